// SPDX-License-Identifier: Apache-2.0
// Opening files for reading, with errors for people. Internal to artifact.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"

namespace o3::artifact {

// Owner of a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

struct RegularFile {
  Descriptor descriptor;
  uint64_t bytes;
};

// kNotFound, kDenied, kExhausted (descriptors), kInvalid when PATH is no regular file or empty.
Result<RegularFile> open_regular_file(const std::filesystem::path& path);

// kInvalid: PATH is a link that leads nowhere; says where to. Not kNotFound, which some take for
// leave to do without.
Result<void> check_link(const std::filesystem::path& path);

// "cannot VERB NAME: ..." with the code that fits `number` (an errno).
Error os_error(const std::string& name, const char* verb, int number);

}  // namespace o3::artifact
