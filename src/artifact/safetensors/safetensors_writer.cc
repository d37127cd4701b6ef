// SPDX-License-Identifier: Apache-2.0
#include "artifact/safetensors/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/check.h"

namespace o3::artifact {
namespace {

using device::DType;
using Json = nlohmann::ordered_json;

const char* type_name(DType dtype) {
  if (dtype == DType::kF32) return "F32";
  if (dtype == DType::kF16) return "F16";
  O3_CHECK(dtype == DType::kBF16, "safetensors hold plain types");
  return "BF16";
}

std::string header_of(const std::vector<RowTensor>& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  auto& members = header.get_ref<Json::object_t&>();
  int64_t at = 0;
  for (const RowTensor& tensor : tensors) {
    const int64_t end = at + tensor.bytes();
    members.emplace_back(tensor.name, Json{{"dtype", type_name(tensor.dtype)},
                                           {"shape", tensor.shape},
                                           {"data_offsets", std::array<int64_t, 2>{at, end}}});
    at = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

std::string shard_name(size_t index, size_t count) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name.data();
}

// Groups of consecutive tensors, each within `most_bytes` unless it is a single tensor.
std::vector<std::vector<RowTensor>> split(std::vector<RowTensor> tensors, int64_t most_bytes) {
  std::vector<std::vector<RowTensor>> groups(1);
  int64_t bytes = 0;
  for (RowTensor& tensor : tensors) {
    if (!groups.back().empty() && bytes + tensor.bytes() > most_bytes) {
      groups.emplace_back();
      bytes = 0;
    }
    bytes += tensor.bytes();
    groups.back().push_back(std::move(tensor));
  }
  return groups;
}

}  // namespace

Result<void> write_safetensors(const std::filesystem::path& path, std::vector<RowTensor> tensors,
                               Overwrite overwrite, const KeepGoing& keep_going) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const RowTensor& a, const RowTensor& b) {
    return device::row_bytes(a.dtype, 1) > device::row_bytes(b.dtype, 1);
  });
  const std::string header = header_of(tensors);
  const auto length = static_cast<uint64_t>(header.size());
  O3_ASSIGN(OutputFile file, OutputFile::create(path, overwrite, keep_going));
  O3_TRY(file.write(std::as_bytes(std::span(&length, 1))));
  O3_TRY(file.write(header));
  for (const RowTensor& tensor : tensors) O3_TRY(tensor.write_to(file));
  return file.commit();
}

Result<Shards> write_safetensors_set(const std::filesystem::path& directory,
                                     std::vector<RowTensor> tensors, int64_t most_bytes,
                                     const KeepGoing& keep_going) {
  Shards shards;
  for (const RowTensor& tensor : tensors) shards.bytes += static_cast<uint64_t>(tensor.bytes());
  auto groups = split(std::move(tensors), most_bytes);
  Json map = Json::object();
  for (size_t index = 0; index < groups.size(); ++index) {
    const std::string name =
        groups.size() == 1 ? "model.safetensors" : shard_name(index, groups.size());
    for (const RowTensor& tensor : groups[index]) map[tensor.name] = name;
    O3_TRY(
        write_safetensors(directory / name, std::move(groups[index]), Overwrite::kNo, keep_going));
    shards.files.push_back(name);
  }
  if (shards.files.size() == 1) return shards;
  const Json index = {{"metadata", {{"total_size", shards.bytes}}}, {"weight_map", std::move(map)}};
  O3_ASSIGN(OutputFile file,
            OutputFile::create(directory / "model.safetensors.index.json", Overwrite::kNo));
  O3_TRY(file.write(index.dump(2) + "\n"));
  O3_TRY(file.commit());
  return shards;
}

}  // namespace o3::artifact
