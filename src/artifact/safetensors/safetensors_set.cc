// SPDX-License-Identifier: Apache-2.0
#include "artifact/safetensors/safetensors_set.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "artifact/json_file.h"
#include "artifact/mapped_file.h"
#include "base/printable.h"

namespace o3::artifact {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// Nothing that could lead out of the directory.
bool is_plain_file_name(const std::string& name) {
  return name.size() <= 255 && name.ends_with(".safetensors") &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos &&
         name.front() != '.';
}

// Tensor name to shard name.
using WeightMap = std::map<std::string, std::string, std::less<>>;

Result<WeightMap> read_index(const fs::path& path) {
  O3_ASSIGN(const nlohmann::json index,
            read_json_file(path, {.bytes = SafetensorsSet::kMaxIndexBytes,
                                  .values = 2 * SafetensorsFile::kMaxTensors}));
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object() || map->empty()) {
    return invalid(path.string() + " has no weight_map", "weight_map");
  }
  WeightMap shards;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>())) {
      return invalid(path.string() + ": the shard of " + printable(tensor) + " is " +
                         printable(shard.dump(-1, ' ', true)) +
                         "; it must be the name of a .safetensors file beside the index",
                     "weight_map");
    }
    shards.emplace(tensor, shard.get<std::string>());
  }
  return shards;
}

// The index and the shard agree on what the shard holds.
Result<void> check_shard(const WeightMap& shards, const std::string& shard,
                         const SafetensorsFile& file) {
  std::set<std::string_view> held;
  for (const SafeTensor& tensor : file.tensors()) held.insert(tensor.name);
  for (const UnreadTensor& tensor : file.unread()) held.insert(tensor.name);
  for (const std::string_view name : held) {
    const auto listed = shards.find(name);
    if (listed != shards.end() && listed->second == shard) continue;
    return invalid(
        file.name() + " holds " + printable(name) + ", which the index " +
            (listed == shards.end() ? "does not list" : "says is in " + printable(listed->second)),
        printable(name));
  }
  for (const auto& [tensor, in] : shards) {
    if (in != shard || held.contains(tensor)) continue;
    return invalid(file.name() + " lacks " + printable(tensor) + ", which the index says it holds",
                   printable(tensor));
  }
  return {};
}

}  // namespace

Result<SafetensorsSet> SafetensorsSet::open(const fs::path& directory) {
  SafetensorsSet set;
  O3_ASSIGN(const bool single, is_there(directory / kSingle));
  O3_ASSIGN(const bool sharded, is_there(directory / kIndex));
  if (single) {
    O3_ASSIGN(SafetensorsFile file, SafetensorsFile::open(directory / kSingle));
    set.files_.push_back(std::move(file));
  } else if (sharded) {
    O3_TRY(set.open_shards(directory));
  } else {
    return Error{Code::kNotFound,
                 directory.string() + " has neither " + kSingle + " nor " + kIndex +
                     "; weights in another form have to be saved as safetensors first",
                 {}};
  }
  set.collect();
  return set;
}

Result<void> SafetensorsSet::open_shards(const fs::path& directory) {
  O3_ASSIGN(const WeightMap shards, read_index(directory / kIndex));
  std::set<std::string> names;
  for (const auto& [tensor, shard] : shards) names.insert(shard);
  if (names.size() > kMaxFiles) {
    return unsupported((directory / kIndex).string() + " lists " + std::to_string(names.size()) +
                       " shards; up to " + std::to_string(kMaxFiles) + " would work");
  }
  for (const std::string& name : names) {
    O3_ASSIGN(SafetensorsFile file, SafetensorsFile::open(directory / name));
    O3_TRY(check_shard(shards, name, file));
    files_.push_back(std::move(file));
  }
  return {};
}

void SafetensorsSet::collect() {
  for (const SafetensorsFile& file : files_) {
    for (const SafeTensor& tensor : file.tensors()) tensors_.push_back(&tensor);
    for (const UnreadTensor& tensor : file.unread()) unread_.push_back(&tensor);
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const SafeTensor* a, const SafeTensor* b) { return a->name < b->name; });
}

const SafeTensor* SafetensorsSet::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const SafeTensor* tensor, std::string_view wanted) { return tensor->name < wanted; });
  return at != tensors_.end() && (*at)->name == name ? *at : nullptr;
}

uint64_t SafetensorsSet::file_bytes() const noexcept {
  uint64_t bytes = 0;
  for (const SafetensorsFile& file : files_) bytes += file.file_bytes();
  return bytes;
}

void SafetensorsSet::release_pages() const noexcept {
  for (const SafetensorsFile& file : files_) file.release_pages();
}

}  // namespace o3::artifact
