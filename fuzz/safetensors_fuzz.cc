// SPDX-License-Identifier: Apache-2.0
// Any bytes: refused with an error, or a file whose every view can be read.
#include <cstddef>
#include <cstdint>
#include <span>

#include "artifact/safetensors/safetensors_file.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using o3::artifact::SafetensorsFile;
  const auto file =
      SafetensorsFile::parse(std::as_bytes(std::span(data, size)), "fuzz.safetensors");
  if (!file.ok()) {
    O3_CHECK(!file.error().message.empty(), "an error says something");
    return 0;
  }
  unsigned sum = 0;
  int64_t bytes = 0;
  for (const auto& tensor : file->tensors()) {
    O3_CHECK(file->find(tensor.name) == &tensor, "every tensor is found");
    O3_CHECK(tensor.view.rows() * tensor.view.row_stride == tensor.bytes, "rows fill the tensor");
    for (int64_t at = 0; at < tensor.bytes; ++at) {
      sum += std::to_integer<unsigned>(tensor.view.data[at]);
    }
    bytes += tensor.bytes;
  }
  O3_CHECK(bytes < static_cast<int64_t>(size), "tensors do not overlap");
  O3_CHECK(sum != 1 || size != 0, "the reads happen");
  return 0;
}
