// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace o3::api::http {

struct TlsFiles {
  std::string certificate;  // PEM: the certificate, then what leads to its root; empty: no TLS
  std::string key;          // PEM, without a passphrase
};

}  // namespace o3::api::http
