// SPDX-License-Identifier: Apache-2.0
#include "artifact/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "artifact/descriptor.h"

namespace o3::artifact {

Result<bool> is_there(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return true;
  const int problem = errno;
  if (problem != ENOENT && problem != ENOTDIR) return os_error(path.string(), "open", problem);
  O3_TRY(check_link(path));
  return false;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  O3_ASSIGN(const RegularFile file, open_regular_file(path));
  void* data = ::mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, file.descriptor.get(), 0);
  if (data == MAP_FAILED) return os_error(path.string(), "map", errno);
  return MappedFile(static_cast<const std::byte*>(data), file.bytes);
}

MappedFile::~MappedFile() {
  // The mapping itself is never written through; munmap only wants the pointer type.
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release_pages() const noexcept {
  // Only advice: where it fails, the pages simply stay.
  if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

}  // namespace o3::artifact
