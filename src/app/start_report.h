// SPDX-License-Identifier: Apache-2.0
// What `o3 serve` tells on standard output when it starts: one JSON object, or lines for people.
#pragma once

#include <string>

#include "base/result.h"
#include "govern/key_store.h"

namespace o3::app {

struct StartReport {
  std::string address{};    // http://HOST:PORT
  bool everywhere = false;  // it listens on all interfaces
  std::string page{};       // the chat page's link, with its token
};

// kUnavailable: standard output cannot be written.
Result<void> print(const StartReport& report, const govern::KeyStore::Opened& keys, bool json);

// For a start that failed behind the making of a key, which is shown once and never again; nothing
// when no key was made.
Result<void> print_new_key(const govern::KeyStore::Opened& keys, bool json);

}  // namespace o3::app
