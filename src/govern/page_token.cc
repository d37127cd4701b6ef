// SPDX-License-Identifier: Apache-2.0
#include "govern/page_token.h"

namespace o3::govern {

PageToken::PageToken(Secret<std::string> text)
    : text_(std::move(text)), digest_(KeyDigest::of(text_.reveal())) {}

Result<PageToken> PageToken::create() {
  O3_ASSIGN(Secret<std::string> text, make_credential(kPageTokenPrefix));
  return PageToken(std::move(text));
}

std::optional<Principal> PageToken::find(std::string_view presented) const {
  if (presented.size() > kMaxCredentialBytes) return std::nullopt;
  if (!digest_.same(KeyDigest::of(presented))) return std::nullopt;
  return Principal{.kind = PrincipalKind::kPageToken,
                   .id = "user:chat-page",
                   .tenant = "default",
                   .request_class = RequestClass::kNormal,
                   .models = {"*"}};
}

}  // namespace o3::govern
