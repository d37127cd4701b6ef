// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/result.h"

namespace o3::artifact {

using Sha256 = std::array<std::byte, 32>;

// kInternal only if the crypto library has no SHA-256.
Result<Sha256> sha256(std::span<const std::byte> bytes);

// Reads the file through a small buffer, so that hashing a model does not fill memory with it.
// Errors as MappedFile::open, and kUnavailable when reading fails.
Result<Sha256> sha256_file(const std::filesystem::path& path);

// 64 lower-case digits.
std::string hex(const Sha256& digest);

}  // namespace o3::artifact
