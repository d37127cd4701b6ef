// SPDX-License-Identifier: Apache-2.0
#include "govern/durable_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "govern/api_key.h"

namespace o3::govern {
namespace {

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }
  bool valid() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

// Removes a temporary file unless it was renamed.
class Leftover {
 public:
  explicit Leftover(std::filesystem::path file) : file_(std::move(file)) {}
  ~Leftover() {
    if (!file_.empty()) ::unlink(file_.c_str());
  }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  void keep() noexcept { file_.clear(); }

 private:
  std::filesystem::path file_;
};

Error failed(std::string_view what, const std::filesystem::path& path) {
  const std::error_code code(errno, std::generic_category());
  return unavailable("cannot " + std::string(what) + " " + path.string() + ": " + code.message());
}

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

Result<void> write_all(const Descriptor& file, std::string_view content,
                       const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file.get()) != 0) return failed("sync", path);
  return {};
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() || ::fsync(opened.get()) != 0) return failed("sync", folder);
  return {};
}

// `size` is what the file system said; the file may have grown since, which is an error as well.
Result<std::string> read_all(const Descriptor& file, size_t size, size_t most_bytes,
                             const std::filesystem::path& path) {
  std::string content(std::min(size, most_bytes) + 1, '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  if (filled == content.size()) {
    return Error{Code::kTooLong,
                 path.string() + " is larger than " + std::to_string(most_bytes) + " bytes",
                 {}};
  }
  content.resize(filled);
  return content;
}

int rename_keeping(const char* from, const char* to) {
  return ::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

}  // namespace

int place_new_file(const std::filesystem::path& from, const std::filesystem::path& to,
                   RenameKeeping rename) {
  if (rename(from.c_str(), to.c_str()) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A crash between the two leaves a second name, never a part of the content.
  if (::link(from.c_str(), to.c_str()) != 0) return -1;
  ::unlink(from.c_str());
  return 0;
}

Result<void> write_private_file(const std::filesystem::path& file, std::string_view content,
                                IfExists if_exists) {
  O3_ASSIGN(const std::string suffix, random_hex(8));
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const auto temporary = folder / ("." + file.filename().string() + "." + suffix);
  const Descriptor made(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.valid()) return failed("create", temporary);
  Leftover leftover(temporary);
  O3_TRY(write_all(made, content, temporary));
  const int placed = if_exists == IfExists::kKeep ? place_new_file(temporary, file, rename_keeping)
                                                  : ::rename(temporary.c_str(), file.c_str());
  if (placed != 0) {
    if (errno == EEXIST) return Error{Code::kConflict, file.string() + " exists", {}};
    return failed("put in place", file);
  }
  leftover.keep();
  return sync_folder(folder);
}

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return failed("open", folder);
  FolderLock lock(fd);
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return failed("lock", folder);
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::string> read_private_file(const std::filesystem::path& file, size_t most_bytes) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.valid()) {
    if (errno == ENOENT) return Error{Code::kNotFound, file.string() + " does not exist", {}};
    return failed("open", file);
  }
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return failed("examine", file);
  if (!S_ISREG(status.st_mode)) return invalid(file.string() + " is not a regular file");
  if (status.st_uid != ::geteuid()) {
    return Error{Code::kDenied,
                 file.string() + " belongs to another user; run: chown " +
                     std::to_string(::geteuid()) + " " + file.string(),
                 {}};
  }
  if ((status.st_mode & 077) != 0) {
    return Error{Code::kDenied,
                 file.string() + " is open to other users (mode " + octal(status.st_mode) +
                     "); run: chmod 600 " + file.string(),
                 {}};
  }
  return read_all(opened, static_cast<size_t>(status.st_size), most_bytes, file);
}

Result<void> make_private_folder(const std::filesystem::path& folder) {
  std::filesystem::path made;
  for (const auto& part : folder) {
    made /= part;
    if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR) {
      return failed("make the folder", made);
    }
  }
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return failed("examine", folder);
  if (!S_ISDIR(status.st_mode)) return invalid(folder.string() + " is not a folder");
  if ((status.st_mode & 022) != 0) {
    return Error{Code::kDenied,
                 folder.string() + " can be written by other users (mode " + octal(status.st_mode) +
                     "); run: chmod go-w " + folder.string(),
                 {}};
  }
  return {};
}

}  // namespace o3::govern
