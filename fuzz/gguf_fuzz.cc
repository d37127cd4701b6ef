// SPDX-License-Identifier: Apache-2.0
// Any bytes: refused with an error, or a file whose every view can be read.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/describe_model.h"
#include "artifact/gguf/gguf_file.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using o3::artifact::GgufFile;
  const auto file = GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!file.ok()) {
    O3_CHECK(!file.error().message.empty(), "an error says something");
    return 0;
  }
  const auto described = o3::app::describe(*file);
  O3_CHECK(!described.dump().empty(), "every file can be described, in UTF-8");
  O3_CHECK(!o3::app::describe_text(described).empty(), "and for people");
  for (const auto& entry : file->metadata()) {
    O3_CHECK(file->find(entry.key) == &entry.value, "every key is found");
    (void)file->required<uint64_t>(entry.key);
    (void)file->required<float>(entry.key);
    (void)file->required<std::string>(entry.key);
    (void)file->required<std::vector<int32_t>>(entry.key);
    (void)file->required<std::vector<float>>(entry.key);
    const auto texts = file->optional<o3::artifact::StringArray>(entry.key);
    if (!texts.ok() || !texts->has_value()) continue;
    size_t bytes = 0;
    for (const std::string_view text : **texts) bytes += text.size();
    O3_CHECK(bytes <= size, "strings lie in the file");
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
