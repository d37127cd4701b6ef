// SPDX-License-Identifier: Apache-2.0
#include "govern/api_key.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <span>
#include <vector>

namespace o3::govern {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string hex_of(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

void append_base64url(std::span<const uint8_t> bytes, std::string& out) {
  uint32_t bits = 0;
  int held = 0;  // bits not written yet, < 6 after each turn
  for (const uint8_t byte : bytes) {
    bits = (bits << 8) | byte;
    for (held += 8; held >= 6; held -= 6) out += kBase64Url[(bits >> (held - 6)) & 63];
  }
  if (held > 0) out += kBase64Url[(bits << (6 - held)) & 63];
}

Error no_randomness() {
  return unavailable("The system's random generator gave no bytes.");
}

}  // namespace

bool KeyDigest::same(const KeyDigest& other) const noexcept {
  return CRYPTO_memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0;
}

std::string KeyDigest::hex() const {
  return hex_of(bytes);
}

std::optional<KeyDigest> KeyDigest::from_hex(std::string_view text) {
  KeyDigest digest;
  if (text.size() != digest.bytes.size() * 2) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kHexDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    digest.bytes[i / 2] = static_cast<uint8_t>((digest.bytes[i / 2] << 4) | digit);
  }
  return digest;
}

KeyDigest KeyDigest::of(std::string_view text) {
  KeyDigest digest;
  SHA256(reinterpret_cast<const uint8_t*>(text.data()), text.size(), digest.bytes.data());
  return digest;
}

Result<Secret<std::string>> make_credential(std::string_view prefix) {
  std::array<uint8_t, 32> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return no_randomness();
  std::string text(prefix);
  text.reserve(prefix.size() + 43);  // no reallocation: it would leave a copy behind
  append_base64url(bytes, text);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return Secret<std::string>(std::move(text));
}

Result<std::string> random_hex(size_t count) {
  std::vector<uint8_t> bytes(count);
  if (RAND_bytes(bytes.data(), static_cast<int>(count)) != 1) return no_randomness();
  return hex_of(bytes);
}

}  // namespace o3::govern
