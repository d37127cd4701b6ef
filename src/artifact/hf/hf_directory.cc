// SPDX-License-Identifier: Apache-2.0
#include "artifact/hf/hf_directory.h"

#include <system_error>
#include <utility>

#include "artifact/json_file.h"
#include "artifact/mapped_file.h"

namespace o3::artifact {

namespace fs = std::filesystem;

std::string directory_name(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::weakly_canonical(path, error);
  fs::path last = (error ? path : full).filename();
  if (last.empty()) last = path.parent_path().filename();
  return last.string();
}

Result<HfDirectory> HfDirectory::open(const fs::path& path) {
  HfDirectory directory;
  directory.path_ = path;
  directory.name_ = directory_name(path);
  O3_ASSIGN(directory.config_, read_json_file(path / "config.json"));
  O3_ASSIGN(const bool has_generation, is_there(path / "generation_config.json"));
  if (has_generation) {
    O3_ASSIGN(directory.generation_, read_json_file(path / "generation_config.json"));
  }
  O3_ASSIGN(directory.tensors_, SafetensorsSet::open(path));
  return directory;
}

}  // namespace o3::artifact
