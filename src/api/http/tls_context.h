// SPDX-License-Identifier: Apache-2.0
// Internal to http/.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "api/http/tls_files.h"
#include "base/result.h"

namespace o3::api::http {

// TLS 1.2 and later, for a server that speaks HTTP/1.1. kInvalid (param tls_cert, tls_key) says
// which file is wrong.
Result<std::unique_ptr<boost::asio::ssl::context>> make_tls_context(const TlsFiles& files);

}  // namespace o3::api::http
