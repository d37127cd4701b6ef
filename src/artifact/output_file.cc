// SPDX-License-Identifier: Apache-2.0
#include "artifact/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

namespace o3::artifact {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = size_t{1} << 20U;

// "models/" and "models" are the same directory.
fs::path without_slash(const fs::path& path) {
  return path.filename().empty() ? path.parent_path() : path;
}

// Names to try; what an earlier process left behind may have taken the first ones.
constexpr int kAttempts = 100;

std::string partial_name(const fs::path& path, int attempt) {
  return path.string() + "." + std::to_string(::getpid()) + "-" + std::to_string(attempt) +
         ".partial";
}

// Whether `name` is one that partial_name() makes of a target called `target`.
bool is_partial_of(std::string_view name, std::string_view target) {
  constexpr std::string_view kEnding = ".partial";
  if (!name.starts_with(target) || !name.ends_with(kEnding)) return false;
  if (name.size() < target.size() + 1 + kEnding.size()) return false;
  const std::string_view middle =
      name.substr(target.size(), name.size() - target.size() - kEnding.size());
  return middle.size() >= 4 && middle.front() == '.' &&
         middle.find_first_not_of("0123456789-", 1) == std::string_view::npos;
}

// A lock lasts as long as its descriptor, so nobody holds that of a process which was killed.
bool lock(const Descriptor& file) {
  return file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

// Locked, and still what stands under this name: no other process has taken it for a left-over.
bool lock_named(const Descriptor& file, const std::string& name) {
  struct stat held {};
  struct stat named {};
  if (::fstat(file.get(), &held) != 0) return false;
  // Some network file systems have no locks: then left-overs stay.
  if (!lock(file) && errno != ENOLCK && errno != EOPNOTSUPP) return false;
  return ::lstat(name.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

// What killed processes left of earlier attempts. Where it cannot be removed it stays.
void remove_left_overs(const fs::path& path) {
  std::error_code error;
  const fs::path parent = path.parent_path();
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(parent.empty() ? "." : parent, error)) {
    if (is_partial_of(entry.path().filename().string(), path.filename().string())) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& left : found) {
    const Descriptor file(::open(left.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (lock(file)) fs::remove_all(left, error);
  }
}

Error conflict(const fs::path& path) {
  return Error{Code::kConflict, path.string() + " is there already; --force replaces it", {}};
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// A rename is lost at power loss until its directory is synced.
Result<void> sync_directory(const fs::path& directory) {
  const std::string name = directory.empty() ? "." : directory.string();
  const Descriptor open(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.get() < 0 || ::fsync(open.get()) != 0) return os_error(name, "sync", errno);
  return {};
}

// Refuses an existing target in the same step, where the file system can.
Result<void> rename_to(const fs::path& from, const fs::path& to, Overwrite overwrite) {
  if (overwrite == Overwrite::kNo) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EEXIST) return conflict(to);
    if (errno != EINVAL && errno != ENOSYS) return os_error(to.string(), "create", errno);
    if (is_there(to)) return conflict(to);
  }
  if (::rename(from.c_str(), to.c_str()) != 0) return os_error(to.string(), "create", errno);
  return {};
}

// A rename would put a file in the place of a device, a pipe or a link to either.
Result<void> check_target(const fs::path& path, fs::file_type expected, Overwrite overwrite) {
  if (!is_there(path)) return {};
  if (overwrite == Overwrite::kNo) return conflict(path);
  std::error_code error;
  const fs::file_type found = fs::symlink_status(path, error).type();
  if (found == expected) return {};
  if (found == fs::file_type::symlink) {
    return invalid(path.string() +
                   " is a link; only what it points to can be replaced, by its name");
  }
  const bool file = expected == fs::file_type::regular;
  return invalid(path.string() + " is there and is not a " + (file ? "regular file" : "directory") +
                 "; only that can be replaced");
}

}  // namespace

Result<OutputFile> OutputFile::create(const fs::path& path, Overwrite overwrite,
                                      KeepGoing keep_going) {
  O3_TRY(check_target(path, fs::file_type::regular, overwrite));
  remove_left_overs(path);
  for (int attempt = 0;; ++attempt) {
    std::string partial = partial_name(path, attempt);
    Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() >= 0 && lock_named(file, partial)) {
      return OutputFile(path, std::move(partial), std::move(file), overwrite,
                        std::move(keep_going));
    }
    if ((file.get() < 0 && errno != EEXIST) || attempt == kAttempts)
      return os_error(partial, "create", errno);
  }
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  written_ += bytes.size();
  return buffer_.size() < kBufferBytes ? Result<void>{} : flush();
}

Result<void> OutputFile::flush() {
  if (keep_going_ && !keep_going_()) return Error{Code::kCancelled, "interrupted", {}};
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t count = ::write(file_.get(), left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os_error(partial_, "write", errno);
    left.remove_prefix(static_cast<size_t>(count));
  }
  buffer_.clear();
  return {};
}

Result<void> OutputFile::commit() {
  O3_TRY(flush());
  if (::fsync(file_.get()) != 0) return os_error(partial_, "write", errno);
  O3_TRY(rename_to(partial_, path_, overwrite_));
  partial_.clear();
  return sync_directory(path_.parent_path());
}

Result<OutputDirectory> OutputDirectory::create(const fs::path& path, Overwrite overwrite) {
  const fs::path target = without_slash(path);
  O3_TRY(check_target(target, fs::file_type::directory, overwrite));
  remove_left_overs(target);
  for (int attempt = 0;; ++attempt) {
    fs::path partial = partial_name(target, attempt);
    const bool made = ::mkdir(partial.c_str(), 0777) == 0;
    if (made) {
      Descriptor lock(::open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (lock.get() >= 0 && lock_named(lock, partial.string())) {
        return OutputDirectory(target, std::move(partial), std::move(lock), overwrite);
      }
    }
    if ((!made && errno != EEXIST) || attempt == kAttempts)
      return os_error(partial.string(), "create", errno);
  }
}

OutputDirectory::~OutputDirectory() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

Result<void> OutputDirectory::commit() {
  O3_TRY(sync_directory(partial_));
  if (overwrite_ == Overwrite::kYes && is_there(path_)) return replace();
  O3_TRY(rename_to(partial_, path_, Overwrite::kNo));
  partial_.clear();
  return sync_directory(path_.parent_path());
}

Result<void> OutputDirectory::replace() {
  std::error_code ignored;
  if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(partial_, ignored);  // what was there
    partial_.clear();
    return sync_directory(path_.parent_path());
  }
  if (errno != EINVAL && errno != ENOSYS) return os_error(path_.string(), "create", errno);
  const fs::path old = partial_.string() + ".old";
  O3_TRY(rename_to(path_, old, Overwrite::kYes));
  Result<void> renamed = rename_to(partial_, path_, Overwrite::kNo);
  if (!renamed.ok()) {
    O3_TRY(rename_to(old, path_, Overwrite::kNo));
    return renamed;
  }
  partial_.clear();
  fs::remove_all(old, ignored);
  return sync_directory(path_.parent_path());
}

}  // namespace o3::artifact
