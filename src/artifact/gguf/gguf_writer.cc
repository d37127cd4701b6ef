// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_writer.h"

#include <cstring>
#include <utility>

#include "artifact/gguf/ggml_type.h"
#include "base/check.h"

namespace o3::artifact {
namespace {

void append(std::vector<std::byte>& out, const void* data, size_t bytes) {
  if (bytes == 0) return;  // memcpy wants real pointers
  const size_t at = out.size();
  out.resize(at + bytes);
  std::memcpy(out.data() + at, data, bytes);
}

template <class T>
void append(std::vector<std::byte>& out, T value) {
  append(out, &value, sizeof value);
}

void append_string(std::vector<std::byte>& out, std::string_view text) {
  append(out, static_cast<uint64_t>(text.size()));
  append(out, text.data(), text.size());
}

void pad(std::vector<std::byte>& out, uint32_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

}  // namespace

void GgufWriter::put_raw(const void* data, size_t bytes) {
  append(entries_, data, bytes);
}

void GgufWriter::put_string(std::string_view text) {
  append_string(entries_, text);
}

void GgufWriter::begin_entry(std::string_view key, GgufType type) {
  ++count_;
  put_string(key);
  put(static_cast<uint32_t>(type));
}

void GgufWriter::begin_array(std::string_view key, GgufType element, uint64_t count) {
  begin_entry(key, GgufType::kArray);
  put(static_cast<uint32_t>(element));
  put(count);
}

void GgufWriter::add(std::string_view key, std::string_view value) {
  begin_entry(key, GgufType::kString);
  put_string(value);
}

void GgufWriter::add_array(std::string_view key, std::span<const std::string> values) {
  begin_array(key, GgufType::kString, values.size());
  for (const std::string& value : values) put_string(value);
}

void GgufWriter::add_tensor(std::string_view name, device::DType dtype,
                            std::span<const int64_t> shape, std::span<const std::byte> data) {
  tensors_.push_back({std::string(name), dtype, {shape.begin(), shape.end()}, data});
}

void GgufWriter::add_tensor(RowTensor tensor) {
  tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, {}, std::move(tensor)});
}

std::vector<std::byte> GgufWriter::head() const {
  std::vector<std::byte> out;
  append(out, "GGUF", 4);
  append(out, uint32_t{3});
  append(out, static_cast<uint64_t>(tensors_.size()));
  append(out, count_);
  append(out, entries_.data(), entries_.size());
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors_) {
    append_string(out, tensor.name);
    append(out, static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) append(out, *size);
    append(out, ggml_from_dtype(tensor.dtype));
    append(out, offset);
    offset += (tensor.bytes() + alignment_ - 1) / alignment_ * alignment_;
  }
  return out;
}

std::vector<std::byte> GgufWriter::build() const {
  std::vector<std::byte> out = head();
  for (const Tensor& tensor : tensors_) {
    O3_CHECK(!tensor.rows.row, "tensors made row by row are for write()");
    pad(out, alignment_);
    append(out, tensor.data.data(), tensor.data.size());
  }
  pad(out, alignment_);
  return out;
}

Result<void> GgufWriter::write(const std::filesystem::path& path, Overwrite overwrite,
                               const KeepGoing& keep_going) const {
  O3_ASSIGN(OutputFile file, OutputFile::create(path, overwrite, keep_going));
  O3_TRY(file.write(head()));
  const auto pad_file = [&]() -> Result<void> {
    const uint64_t over = file.written() % alignment_;
    if (over == 0) return {};
    return file.write(std::vector<std::byte>(static_cast<size_t>(alignment_ - over)));
  };
  for (const Tensor& tensor : tensors_) {
    O3_TRY(pad_file());
    if (tensor.rows.row) {
      O3_TRY(tensor.rows.write_to(file));
    } else {
      O3_TRY(file.write(tensor.data));
    }
  }
  O3_TRY(pad_file());
  return file.commit();
}

}  // namespace o3::artifact
