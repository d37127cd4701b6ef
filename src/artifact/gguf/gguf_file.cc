// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_file.h"

#include <algorithm>
#include <utility>

#include "artifact/gguf/gguf_parser.h"
#include "artifact/gguf/split_name.h"

namespace o3::artifact {

Result<GgufFile> GgufFile::open_one(const std::filesystem::path& path) {
  O3_ASSIGN(MappedFile map, MappedFile::open(path));
  O3_ASSIGN(GgufFile file, parse(map.bytes(), path.filename().string()));
  file.map_ = std::move(map);
  return file;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  O3_ASSIGN(GgufFile file, open_one(path));
  O3_ASSIGN(const auto count, file.optional<uint32_t>(kSplitCount));
  if (count.value_or(1) <= 1) return file;
  return open_split(path, *count);
}

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, std::string name) {
  GgufFile file;
  file.bytes_ = bytes;
  file.name_ = std::move(name);
  O3_TRY(GgufParser(file).run());
  return file;
}

uint64_t GgufFile::file_bytes() const noexcept {
  uint64_t bytes = bytes_.size();
  for (const GgufFile& part : others_) bytes += part.bytes_.size();
  return bytes;
}

void GgufFile::release_pages() const noexcept {
  if (map_) map_->release_pages();
  for (const GgufFile& part : others_) part.release_pages();
}

const GgufValue* GgufFile::find(std::string_view key) const noexcept {
  const auto at = std::lower_bound(
      entries_by_key_.begin(), entries_by_key_.end(), key,
      [this](uint32_t index, std::string_view wanted) { return entries_[index].key < wanted; });
  if (at == entries_by_key_.end() || entries_[*at].key != key) return nullptr;
  return &entries_[*at].value;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors_by_name_.begin(), tensors_by_name_.end(), name,
      [this](uint32_t index, std::string_view wanted) { return tensors_[index].name < wanted; });
  if (at == tensors_by_name_.end() || tensors_[*at].name != name) return nullptr;
  return &tensors_[*at];
}

Result<device::TensorView> GgufFile::tensor(std::string_view name) const {
  const GgufTensor* found = find_tensor(name);
  if (found != nullptr) return found->view;
  std::string message = name_ + ": tensor " + std::string(name) + " is missing";
  const auto shards = optional<uint32_t>(kSplitCount);
  if (shards.ok() && shards->value_or(0) > parts()) {
    message += "; the model is split into " + std::to_string(**shards) +
               " files, of which only this one was read";
  }
  return Error{Code::kNotFound, std::move(message), std::string(name)};
}

Error GgufFile::missing_key(std::string_view key) const {
  return Error{Code::kNotFound, name_ + ": metadata key " + std::string(key) + " is missing",
               std::string(key)};
}

}  // namespace o3::artifact
