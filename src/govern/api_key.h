// SPDX-License-Identifier: Apache-2.0
// API keys as text and as what is kept of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "govern/secret.h"

namespace o3::govern {

// SHA-256 of the key's whole text. A plain hash is enough: the text carries 256 random bits, so
// there is nothing to guess that a slow hash would protect.
struct KeyDigest {
  std::array<uint8_t, 32> bytes{};

  // Takes the same time wherever the two differ.
  bool same(const KeyDigest& other) const noexcept;
  std::string hex() const;  // 64 lower-case digits
  static std::optional<KeyDigest> from_hex(std::string_view text);
  static KeyDigest of(std::string_view text);
};

inline constexpr std::string_view kApiKeyPrefix = "o3-";
inline constexpr std::string_view kPageTokenPrefix = "o3page-";
inline constexpr size_t kMaxCredentialBytes = 512;  // longer ones are refused unread

// prefix + 43 base64url characters (RFC 4648 section 5, no padding) of 32 bytes from the system's
// random generator. kUnavailable when it has none.
Result<Secret<std::string>> make_credential(std::string_view prefix);

// `bytes` random bytes as lower-case hex; for identifiers.
Result<std::string> random_hex(size_t bytes);

}  // namespace o3::govern
