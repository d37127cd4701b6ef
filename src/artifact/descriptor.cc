// SPDX-License-Identifier: Apache-2.0
#include "artifact/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace o3::artifact {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

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

Result<void> check_link(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  if (error || std::filesystem::exists(path, error)) return {};
  return Error{Code::kInvalid,
               path.string() + " is a link to " + target.string() + ", which is not there",
               path.string()};
}

Result<RegularFile> open_regular_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int problem = errno;
    O3_TRY(check_link(path));
    return os_error(name, "open", problem);
  }

  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return os_error(name, "read", errno);
  if (S_ISDIR(status.st_mode)) return invalid(name + " is a directory, not a file", name);
  if (!S_ISREG(status.st_mode)) return invalid(name + " is not a regular file", name);
  if (status.st_size <= 0) return invalid(name + " is empty (0 bytes)", name);
  return RegularFile{std::move(file), static_cast<uint64_t>(status.st_size)};
}

}  // namespace o3::artifact
