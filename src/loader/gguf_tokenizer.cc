// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/hf_tokenizer.h"
#include "text/hf/tokenizer_json.h"

namespace o3::loader {
namespace {

// Views of all strings; each takes at least 8 bytes of the file, which bounds the vector.
std::vector<std::string_view> views(const artifact::StringArray& strings) {
  std::vector<std::string_view> out;
  out.reserve(strings.size());
  for (const std::string_view text : strings) out.push_back(text);
  return out;
}

// The first files of this kind have no keys for them.
void name_first_tokens(text::TokenizerSpec& spec) {
  const auto name = [&](std::optional<Token>& id, Token first) {
    if (!id && static_cast<size_t>(first) < spec.tokens.size()) id = first;
  };
  name(spec.unknown, 0);
  name(spec.bos, 1);
  name(spec.eos, 2);
}

// Where the file does not say: as llama.cpp has it.
bool adds_bos_by_default(const text::TokenizerSpec& spec) {
  constexpr std::array<std::string_view, 4> kPre = {"llama-bpe", "llama3", "llama-v3", "tekken"};
  if (spec.model == "gpt2") return std::find(kPre.begin(), kPre.end(), spec.pre) != kPre.end();
  return spec.model == "llama" || spec.model == "bert" || spec.model == "gemma4";
}

}  // namespace

Result<void> check_named_tokens(const artifact::GgufFile& file, int64_t vocabulary) {
  for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "padding"}) {
    const std::string key = "tokenizer.ggml." + std::string(name) + "_token_id";
    O3_ASSIGN(const auto id, file.optional<int64_t>(key));
    if (!id || (*id >= 0 && *id < vocabulary)) continue;
    return invalid(key + " is " + std::to_string(*id) + ", which is outside the vocabulary of " +
                       std::to_string(vocabulary) + " tokens",
                   key);
  }
  return {};
}

Result<text::TokenizerSpec> gguf_tokenizer_spec(const artifact::GgufFile& file) {
  text::TokenizerSpec spec;
  O3_ASSIGN(spec.model, file.required<std::string>("tokenizer.ggml.model"));
  O3_ASSIGN(const auto pre, file.optional<std::string>("tokenizer.ggml.pre"));
  spec.pre = pre.value_or("default");
  O3_ASSIGN(const auto tokens, file.required<artifact::StringArray>("tokenizer.ggml.tokens"));
  spec.tokens = views(tokens);
  O3_ASSIGN(auto kinds, file.optional<std::vector<int32_t>>("tokenizer.ggml.token_type"));
  if (kinds) spec.kinds = *std::move(kinds);
  O3_ASSIGN(const auto merges, file.optional<artifact::StringArray>("tokenizer.ggml.merges"));
  if (merges) spec.merges = views(*merges);
  O3_ASSIGN(spec.bos, file.optional<Token>("tokenizer.ggml.bos_token_id"));
  O3_ASSIGN(spec.eos, file.optional<Token>("tokenizer.ggml.eos_token_id"));
  O3_ASSIGN(spec.unknown, file.optional<Token>("tokenizer.ggml.unknown_token_id"));
  O3_ASSIGN(auto scores, file.optional<std::vector<float>>("tokenizer.ggml.scores"));
  if (scores) spec.scores = *std::move(scores);
  O3_ASSIGN(const auto space, file.optional<bool>("tokenizer.ggml.add_space_prefix"));
  spec.add_space_prefix = space.value_or(spec.model != "gemma4");
  for (const char* key : {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    O3_ASSIGN(const auto end, file.optional<Token>(key));
    if (end) spec.ends.push_back(*end);
  }
  if (spec.model == "llama") name_first_tokens(spec);
  O3_ASSIGN(const auto add_bos, file.optional<bool>("tokenizer.ggml.add_bos_token"));
  spec.add_bos = add_bos.value_or(spec.bos.has_value() && adds_bos_by_default(spec));
  return spec;
}

Result<std::unique_ptr<text::Tokenizer>> load_gguf_tokenizer(const artifact::GgufFile& file) {
  O3_ASSIGN(const auto json, file.optional<std::string_view>(kTokenizerJsonKey));
  if (json) {
    O3_ASSIGN(const auto config, file.optional<std::string_view>(kTokenizerConfigKey));
    O3_ASSIGN(const text::TokenizerNames names, read_tokenizer_names(config.value_or("{}")));
    O3_ASSIGN(auto loaded, text::load_tokenizer_json(*json, names));
    O3_ASSIGN(const auto tokens, file.optional<artifact::StringArray>("tokenizer.ggml.tokens"));
    const auto listed = static_cast<int64_t>(tokens ? tokens->size() : 0);
    O3_TRY(check_named_tokens(file, std::max<int64_t>(listed, loaded->vocabulary_size())));
    return loaded;
  }
  O3_ASSIGN(const text::TokenizerSpec spec, gguf_tokenizer_spec(file));
  O3_TRY(check_named_tokens(file, static_cast<int64_t>(spec.tokens.size())));
  return text::load_tokenizer(spec);
}

}  // namespace o3::loader
