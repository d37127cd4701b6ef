// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "govern/api_key.h"
#include "govern/principal.h"
#include "govern/secret.h"

namespace o3::govern {

// Lets the chat page that this process serves use the rows marked key-or-page-token, until the
// process ends. Never an API key, kept nowhere.
class PageToken {
 public:
  static Result<PageToken> create();

  // The text, for the fragment of the link that `serve` prints.
  const Secret<std::string>& text() const noexcept { return text_; }

  std::optional<Principal> find(std::string_view presented) const;

 private:
  explicit PageToken(Secret<std::string> text);

  Secret<std::string> text_;
  KeyDigest digest_;
};

}  // namespace o3::govern
