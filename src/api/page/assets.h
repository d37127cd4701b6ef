// SPDX-License-Identifier: Apache-2.0
// The chat page's files, embedded at build time (cmake/EmbedAssets.cmake). Immutable, in static
// storage; any thread may read them.
#pragma once

#include <span>
#include <string_view>

namespace o3::api {

struct Asset {
  std::string_view path;          // where it is served, e.g. "/" or "/page/page.css"
  std::string_view content_type;  // a whole Content-Type header value
  std::string_view bytes;
  std::string_view etag;  // strong validator with its quotes, a prefix of the content's SHA-256
};

// All files, ordered by path. Every one is public: none holds a secret or depends on the caller.
std::span<const Asset> page_assets();

// The Content-Security-Policy header value the page is written for and tested under: nothing but
// this origin's own scripts, styles, images and requests; no frames, no forms, no base change.
inline constexpr std::string_view kPageSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace o3::api
