// SPDX-License-Identifier: Apache-2.0
#include "artifact/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace o3::artifact {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Error os_error(const std::string& name, const char* verb, int number) {
  Error error;
  error.message =
      "cannot " + std::string(verb) + " " + name + ": " + std::generic_category().message(number);
  error.param = name;
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      error.code = Code::kNotFound;
      break;
    case EACCES:
    case EPERM:
      error.code = Code::kDenied;
      break;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      error.code = Code::kExhausted;
      break;
    default:
      error.code = Code::kUnavailable;
  }
  return error;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const std::string name = path.string();
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return os_error(name, "open", errno);

  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error(name, "read", errno);
  if (S_ISDIR(status.st_mode)) return invalid(name + " is a directory, not a file", name);
  if (!S_ISREG(status.st_mode)) return invalid(name + " is not a regular file", name);
  if (status.st_size <= 0) return invalid(name + " is empty (0 bytes)", name);

  const auto size = static_cast<size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return os_error(name, "map", errno);
  return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::~MappedFile() {
  // The mapping itself is never written through; munmap only wants the pointer type.
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace o3::artifact
