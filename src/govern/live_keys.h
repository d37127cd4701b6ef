// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "govern/key_store.h"

namespace o3::govern {

// The keys of a file that `o3 keys` or an operator changes while the server runs.
class LiveKeys final : public KeySource {
 public:
  LiveKeys(KeyStore keys, std::filesystem::path file);

  std::optional<Principal> find(std::string_view presented) const override;

  // Reads the file again if it is another than the last time: true when its keys are in force now.
  // A file that cannot be read is an error, told once, and tried again each time; the keys of
  // before stay in force. One thread.
  Result<bool> refresh();

 private:
  // What changes when a file is replaced, written, or given other rights.
  struct Stamp {
    ino_t inode = 0;
    off_t size = -1;
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  Stamp stamp() const;

  const std::filesystem::path file_;
  Stamp seen_;                // of the file whose keys are in force
  std::string told_;          // the error that was told last
  mutable std::mutex mutex_;  // of keys_
  std::shared_ptr<const KeyStore> keys_;
};

}  // namespace o3::govern
