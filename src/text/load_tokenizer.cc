// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/printable.h"
#include "text/bpe_tokenizer.h"
#include "text/tokenizer_spec.h"

namespace o3::text {
namespace {

struct ModelRow {
  std::string_view name;
  Result<std::unique_ptr<Tokenizer>> (*load)(const TokenizerSpec& spec);
};
constexpr std::array kModels{ModelRow{"gpt2", &BpeTokenizer::load}};

}  // namespace

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const TokenizerSpec& spec) {
  std::string known;
  for (const ModelRow& row : kModels) {
    if (row.name == spec.model) return row.load(spec);
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return unsupported(
      "tokenizer model \"" + printable(spec.model) + "\" is not supported; known: " + known,
      "tokenizer.ggml.model");
}

}  // namespace o3::text
