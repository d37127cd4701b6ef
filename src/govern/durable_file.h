// SPDX-License-Identifier: Apache-2.0
// Small files that must survive a crash and stay private to their owner.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace o3::govern {

enum class IfExists : uint8_t { kReplace, kKeep };  // kKeep: kConflict when the file is there

// Temporary file of mode 0600 in the same folder, fsync, rename, fsync of the folder: a reader
// sees the old content or the whole new one, also after a power loss.
Result<void> write_private_file(const std::filesystem::path& file, std::string_view content,
                                IfExists if_exists);

// renameat2(2) with RENAME_NOREPLACE: 0, or -1 with errno.
using RenameKeeping = int (*)(const char* from, const char* to);

// Moves a file to a name that must be free: 0, or -1 with errno (EEXIST: it is taken). By `rename`,
// or, where the file system (NFS) or the kernel has no such rename, by link(2), which never
// replaces either.
int place_new_file(const std::filesystem::path& from, const std::filesystem::path& to,
                   RenameKeeping rename);

// The whole file; kNotFound when absent. Refuses (kDenied, with the command that repairs it) a file
// that others may read or write or that belongs to another user, and files over `most_bytes`.
Result<std::string> read_private_file(const std::filesystem::path& file, size_t most_bytes);

// Whoever changes a file of the folder by reading and replacing it holds this meanwhile: others,
// also of other processes, wait. Released by the destructor and by the end of the process.
class FolderLock {
 public:
  static Result<FolderLock> take(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

// Makes the folder and its parents, mode 0700; refuses one that others may write to.
Result<void> make_private_folder(const std::filesystem::path& folder);

}  // namespace o3::govern
