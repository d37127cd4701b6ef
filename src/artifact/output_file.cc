// SPDX-License-Identifier: Apache-2.0
#include "artifact/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

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
  const fs::file_type found = fs::status(path, error).type();
  if (found == expected || found == fs::file_type::not_found) return {};
  const bool file = expected == fs::file_type::regular;
  return invalid(path.string() + " is there and is not a " + (file ? "regular file" : "directory") +
                 "; only that can be replaced");
}

}  // namespace

Result<OutputFile> OutputFile::create(const fs::path& path, Overwrite overwrite) {
  O3_TRY(check_target(path, fs::file_type::regular, overwrite));
  for (int attempt = 0;; ++attempt) {
    std::string partial = partial_name(path, attempt);
    Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() >= 0) return OutputFile(path, std::move(partial), std::move(file), overwrite);
    if (errno != EEXIST || attempt == kAttempts) return os_error(partial, "create", errno);
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
  for (int attempt = 0;; ++attempt) {
    fs::path partial = partial_name(target, attempt);
    if (::mkdir(partial.c_str(), 0777) == 0) {
      return OutputDirectory(target, std::move(partial), overwrite);
    }
    if (errno != EEXIST || attempt == kAttempts) return os_error(partial.string(), "create", errno);
  }
}

OutputDirectory::~OutputDirectory() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
}

Result<void> OutputDirectory::commit() {
  O3_TRY(sync_directory(partial_));
  const fs::path old = partial_.string() + ".old";
  const bool replaces = overwrite_ == Overwrite::kYes && is_there(path_);
  if (replaces) O3_TRY(rename_to(path_, old, Overwrite::kYes));
  Result<void> renamed = rename_to(partial_, path_, Overwrite::kNo);
  if (!renamed.ok()) {
    if (replaces) O3_TRY(rename_to(old, path_, Overwrite::kNo));
    return renamed;
  }
  partial_.clear();
  std::error_code ignored;
  if (replaces) fs::remove_all(old, ignored);
  return sync_directory(path_.parent_path());
}

}  // namespace o3::artifact
