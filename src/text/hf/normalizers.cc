// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "text/hf/base64.h"
#include "text/hf/components.h"
#include "text/hf/fields.h"
#include "text/normalize/precompiled.h"

namespace o3::text {
namespace {

constexpr int kMaxDepth = 8;

Result<NormalizerPtr> parse(const JsonValue& json, int depth);

Result<NormalizerPtr> sequence(const JsonValue& json, int depth) {
  std::vector<NormalizerPtr> steps;
  const auto list = json.find("normalizers");
  if (!list || !list->is_array() || depth > kMaxDepth) {
    return invalid("tokenizer.json: Sequence needs a list of normalizers, nested at most 8 deep");
  }
  for (const JsonValue step : *list) {
    O3_ASSIGN(NormalizerPtr parsed, parse(step, depth + 1));
    steps.push_back(std::move(parsed));
  }
  if (steps.empty()) return NormalizerPtr();
  return normalizer_sequence(std::move(steps));
}

Result<NormalizerPtr> bert(const JsonValue& json, int /*depth*/) {
  BertNormalization options;
  O3_ASSIGN(options.clean_text, bool_field(json, "clean_text", true));
  O3_ASSIGN(options.handle_chinese_chars, bool_field(json, "handle_chinese_chars", true));
  O3_ASSIGN(options.lowercase, bool_field(json, "lowercase", true));
  O3_ASSIGN(options.strip_accents, bool_field(json, "strip_accents", options.lowercase));
  return bert_normalizer(options);
}

Result<NormalizerPtr> replace(const JsonValue& json, int /*depth*/) {
  O3_ASSIGN(const Pattern pattern, pattern_field(json));
  O3_ASSIGN(std::string content, string_field(json, "content"));
  if (!pattern.regex) return replace_text_normalizer(pattern.text, std::move(content));
  O3_ASSIGN(Regex regex, compile_pattern(pattern));
  return replace_normalizer(std::move(regex), std::move(content));
}

Result<NormalizerPtr> strip(const JsonValue& json, int /*depth*/) {
  O3_ASSIGN(const bool left, bool_field(json, "strip_left", true));
  O3_ASSIGN(const bool right, bool_field(json, "strip_right", true));
  return strip_normalizer(left, right);
}

Result<NormalizerPtr> prepend(const JsonValue& json, int /*depth*/) {
  O3_ASSIGN(std::string prefix, string_field(json, "prepend"));
  return prepend_normalizer(std::move(prefix));
}

Result<NormalizerPtr> precompiled(const JsonValue& json, int /*depth*/) {
  O3_ASSIGN(const std::string written, string_field(json, "precompiled_charsmap"));
  const auto raw = base64_bytes(written);
  if (!raw) return invalid("tokenizer.json: \"precompiled_charsmap\" must be base64 text");
  O3_ASSIGN(PrecompiledRules rules, PrecompiledRules::parse(std::as_bytes(std::span(*raw))));
  return precompiled_normalizer(std::move(rules));
}

template <NormalForm form>
Result<NormalizerPtr> normal_form(const JsonValue& /*json*/, int /*depth*/) {
  return unicode_normalizer(form);
}
Result<NormalizerPtr> lowercase(const JsonValue& /*json*/, int /*depth*/) {
  return lowercase_normalizer();
}
Result<NormalizerPtr> nmt(const JsonValue& /*json*/, int /*depth*/) {
  return nmt_normalizer();
}
Result<NormalizerPtr> byte_level(const JsonValue& /*json*/, int /*depth*/) {
  return byte_level_normalizer();
}
Result<NormalizerPtr> strip_accents(const JsonValue& /*json*/, int /*depth*/) {
  return strip_accents_normalizer();
}

struct Row {
  std::string_view type;
  Result<NormalizerPtr> (*parse)(const JsonValue& json, int depth);
};
constexpr std::array kRows{
    Row{"Sequence", &sequence},
    Row{"NFC", &normal_form<NormalForm::kNfc>},
    Row{"NFD", &normal_form<NormalForm::kNfd>},
    Row{"NFKC", &normal_form<NormalForm::kNfkc>},
    Row{"NFKD", &normal_form<NormalForm::kNfkd>},
    Row{"Lowercase", &lowercase},
    Row{"StripAccents", &strip_accents},
    Row{"Strip", &strip},
    Row{"Replace", &replace},
    Row{"Prepend", &prepend},
    Row{"BertNormalizer", &bert},
    Row{"Precompiled", &precompiled},
    Row{"Nmt", &nmt},
    Row{"ByteLevel", &byte_level},
};

Result<NormalizerPtr> parse(const JsonValue& json, int depth) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.type == type_of(json)) return row.parse(json, depth);
    known += (known.empty() ? "" : ", ") + std::string(row.type);
  }
  return unsupported("tokenizer.json: the normalizer \"" + printable(type_of(json)) +
                     "\" is not supported; known: " + known);
}

}  // namespace

Result<NormalizerPtr> parse_normalizer(const std::optional<JsonValue>& json) {
  if (!json || json->is_null()) return NormalizerPtr();
  return parse(*json, 0);
}

}  // namespace o3::text
