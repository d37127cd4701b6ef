// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "artifact/gguf/ggml_type.h"

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

std::vector<std::byte> GgufWriter::build() const {
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
    offset += (tensor.data.size() + alignment_ - 1) / alignment_ * alignment_;
  }
  for (const Tensor& tensor : tensors_) {
    pad(out, alignment_);
    append(out, tensor.data.data(), tensor.data.size());
  }
  pad(out, alignment_);
  return out;
}

Result<void> GgufWriter::write(const std::filesystem::path& path) const {
  const std::vector<std::byte> bytes = build();
  const std::string partial = path.string() + ".partial";
  const auto failed = [&](const char* verb) {
    Error error = unavailable("cannot " + std::string(verb) + " " + partial + ": " +
                              std::generic_category().message(errno));
    std::remove(partial.c_str());
    return error;
  };
  using FilePtr = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  FilePtr file(std::fopen(partial.c_str(), "wbe"), &std::fclose);
  if (!file) return failed("create");
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) {
    return failed("write");
  }
  if (std::fflush(file.get()) != 0 || ::fsync(::fileno(file.get())) != 0) return failed("write");
  if (std::fclose(file.release()) != 0) return failed("close");
  if (std::rename(partial.c_str(), path.c_str()) != 0) return failed("rename");
  return {};
}

}  // namespace o3::artifact
