// SPDX-License-Identifier: Apache-2.0
#include "artifact/sha256.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "artifact/descriptor.h"

namespace o3::artifact {
namespace {

constexpr size_t kBufferBytes = 1u << 20;

class Hasher {
 public:
  Hasher() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    ok_ = context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }
  void update(std::span<const std::byte> bytes) {
    ok_ = ok_ && EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1;
  }
  Result<Sha256> finish() {
    Sha256 digest{};
    auto* out = reinterpret_cast<unsigned char*>(digest.data());
    unsigned int bytes = 0;
    ok_ = ok_ && EVP_DigestFinal_ex(context_.get(), out, &bytes) == 1 && bytes == digest.size();
    if (!ok_) return Error{Code::kInternal, "the crypto library refused SHA-256", {}};
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  bool ok_ = false;
};

}  // namespace

Result<Sha256> sha256(std::span<const std::byte> bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

Result<Sha256> sha256_file(const std::filesystem::path& path) {
  O3_ASSIGN(const RegularFile file, open_regular_file(path));
  Hasher hasher;
  std::vector<std::byte> buffer(kBufferBytes);
  while (true) {
    const ssize_t count = ::read(file.descriptor.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(path.string(), "read", errno);
    if (count == 0) return hasher.finish();
    hasher.update(std::span(buffer).first(static_cast<size_t>(count)));
  }
}

std::string hex(const Sha256& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::byte byte : digest) {
    out += kDigits[std::to_integer<size_t>(byte >> 4)];
    out += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
  return out;
}

}  // namespace o3::artifact
