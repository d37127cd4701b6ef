// SPDX-License-Identifier: Apache-2.0
#include "govern/live_keys.h"

#include <utility>

#include "govern/key_admin.h"

namespace o3::govern {
namespace {

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// The stamp is that of an earlier moment than any change to come, at worst of before `keys` were
// read: then the first refresh reads once too often.
LiveKeys::LiveKeys(KeyStore keys, std::filesystem::path file)
    : file_(std::move(file)), keys_(std::make_shared<const KeyStore>(std::move(keys))) {}

LiveKeys::Stamp LiveKeys::stamp() const {
  struct stat status {};
  if (::stat(file_.c_str(), &status) != 0) return {};
  return {.inode = status.st_ino,
          .size = status.st_size,
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

std::optional<Principal> LiveKeys::find(std::string_view presented) const {
  std::shared_ptr<const KeyStore> keys;
  {
    const std::lock_guard lock(mutex_);
    keys = keys_;
  }
  return keys->find(presented);
}

Result<bool> LiveKeys::refresh() {
  const Stamp now = stamp();
  if (now == seen_ && told_.empty()) return false;
  auto rows = read_keys(file_);
  if (!rows.ok()) {
    if (rows.error().message == told_) return false;
    told_ = rows.error().message;
    return std::move(rows).error();
  }
  told_.clear();
  seen_ = now;
  auto keys = std::make_shared<const KeyStore>(*std::move(rows));
  const std::lock_guard lock(mutex_);
  keys_.swap(keys);
  return true;
}

}  // namespace o3::govern
