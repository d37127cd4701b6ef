// SPDX-License-Identifier: Apache-2.0
// Any bytes: refused with an error, or a file whose every view can be read.
#include <cstddef>
#include <cstdint>
#include <span>

#include "artifact/gguf/describe.h"
#include "artifact/gguf/gguf_file.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using o3::artifact::GgufFile;
  const auto file = GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!file.ok()) {
    O3_CHECK(!file.error().message.empty(), "an error says something");
    return 0;
  }
  O3_CHECK(!o3::artifact::describe_text(*file).empty(), "every file can be described");
  for (const auto& entry : file->metadata()) {
    O3_CHECK(file->find(entry.key) == &entry.value, "every key is found");
    (void)file->required<uint64_t>(entry.key);
    (void)file->required<float>(entry.key);
    (void)file->required<std::vector<int32_t>>(entry.key);
  }
  unsigned sum = 0;
  for (const auto& tensor : file->tensors()) {
    O3_CHECK(file->find_tensor(tensor.name) == &tensor, "every tensor is found");
    const auto view = tensor.view;
    for (int64_t row = 0; row < view.rows(); ++row) {
      sum += std::to_integer<unsigned>(*view.row<std::byte>(row));
    }
    sum += std::to_integer<unsigned>(view.data[tensor.bytes - 1]);
  }
  O3_CHECK(sum != 1 || size != 0, "the reads happen");
  return 0;
}
