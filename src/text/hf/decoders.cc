// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "text/hf/components.h"
#include "text/hf/fields.h"

namespace o3::text {
namespace {

using Step = TokenDecoder::Step;
using Kind = TokenDecoder::Step::Kind;
using Steps = std::vector<Step>;
constexpr int kMaxDepth = 8;

Result<void> add(const JsonValue& json, int depth, Steps& out);

Result<void> sequence(const JsonValue& json, int depth, Steps& out) {
  const auto list = json.find("decoders");
  if (!list || !list->is_array() || depth > kMaxDepth) {
    return invalid("tokenizer.json: Sequence needs a list of decoders, nested at most 8 deep");
  }
  for (const JsonValue step : *list) O3_TRY(add(step, depth + 1, out));
  return {};
}

template <Kind kind>
Result<void> plain(const JsonValue& /*json*/, int /*depth*/, Steps& out) {
  out.push_back({kind, {}, {}, 0, 0, false, nullptr});
  return {};
}

Result<void> replace(const JsonValue& json, int /*depth*/, Steps& out) {
  O3_ASSIGN(Pattern pattern, pattern_field(json));
  Step step{Kind::kReplace, {}, {}, 0, 0, false, nullptr};
  O3_ASSIGN(step.b, string_field(json, "content"));
  if (pattern.regex) {
    O3_ASSIGN(Regex regex, compile_pattern(pattern));
    step.regex = std::make_shared<const Regex>(std::move(regex));
  }
  step.a = std::move(pattern.text);
  out.push_back(std::move(step));
  return {};
}

Result<void> strip(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kStrip, {}, {}, 0, 0, false, nullptr};
  O3_ASSIGN(step.a, string_field(json, "content"));
  O3_ASSIGN(step.left, size_field(json, "start", 0));
  O3_ASSIGN(step.right, size_field(json, "stop", 0));
  out.push_back(std::move(step));
  return {};
}

Result<void> metaspace(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kMetaspace, {}, {}, 0, 0, false, nullptr};
  O3_ASSIGN(step.a, text_field(json, "replacement"));
  O3_ASSIGN(step.flag, bool_field(json, "add_prefix_space", true));
  if (const auto scheme = json.find("prepend_scheme"); scheme && scheme->string()) {
    step.flag = *scheme->string() != "never";
  }
  out.push_back(std::move(step));
  return {};
}

Result<void> word_piece(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kWordPiece, {}, {}, 0, 0, false, nullptr};
  O3_ASSIGN(step.a, string_field(json, "prefix"));
  O3_ASSIGN(step.flag, bool_field(json, "cleanup", true));
  out.push_back(std::move(step));
  return {};
}

Result<void> bpe(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kBpe, {}, {}, 0, 0, false, nullptr};
  O3_ASSIGN(step.a, text_field(json, "suffix"));
  out.push_back(std::move(step));
  return {};
}

Result<void> ctc(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kCtc, {}, {}, 0, 0, false, nullptr};
  O3_ASSIGN(step.a, text_field(json, "pad_token"));
  O3_ASSIGN(step.b, text_field(json, "word_delimiter_token"));
  O3_ASSIGN(step.flag, bool_field(json, "cleanup", true));
  out.push_back(std::move(step));
  return {};
}

struct Row {
  std::string_view type;
  Result<void> (*add)(const JsonValue& json, int depth, Steps& out);
};
constexpr std::array kRows{
    Row{"Sequence", &sequence},
    Row{"ByteLevel", &plain<Kind::kByteLevel>},
    Row{"ByteFallback", &plain<Kind::kByteFallback>},
    Row{"Fuse", &plain<Kind::kFuse>},
    Row{"Replace", &replace},
    Row{"Strip", &strip},
    Row{"Metaspace", &metaspace},
    Row{"WordPiece", &word_piece},
    Row{"BPEDecoder", &bpe},
    Row{"CTC", &ctc},
};

Result<void> add(const JsonValue& json, int depth, Steps& out) {
  std::string known;
  for (const Row& row : kRows) {
    if (row.type == type_of(json)) return row.add(json, depth, out);
    known += (known.empty() ? "" : ", ") + std::string(row.type);
  }
  return unsupported("tokenizer.json: the decoder \"" + printable(type_of(json)) +
                     "\" is not supported; known: " + known);
}

}  // namespace

Result<TokenDecoder> parse_decoder(const std::optional<JsonValue>& json) {
  Steps steps;
  if (!json || json->is_null()) {
    steps.push_back({Kind::kSpaces, {}, {}, 0, 0, false, nullptr});
  } else {
    O3_TRY(add(*json, 0, steps));
  }
  return TokenDecoder(std::move(steps));
}

}  // namespace o3::text
