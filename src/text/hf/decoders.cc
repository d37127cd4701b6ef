// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "text/hf/components.h"
#include "text/hf/fields.h"

namespace o3::text {
namespace {

using Step = Decoder::Step;
using Kind = Decoder::Step::Kind;
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
  out.push_back({kind, {}, {}, 0, 0, false});
  return {};
}

Result<void> replace(const JsonValue& json, int /*depth*/, Steps& out) {
  O3_ASSIGN(Pattern pattern, pattern_field(json));
  if (pattern.regex) return unsupported("tokenizer.json: a Replace decoder with a Regex");
  O3_ASSIGN(std::string content, string_field(json, "content"));
  out.push_back({Kind::kReplace, std::move(pattern.text), std::move(content), 0, 0, false});
  return {};
}

Result<void> strip(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kStrip, {}, {}, 0, 0, false};
  O3_ASSIGN(step.a, string_field(json, "content"));
  O3_ASSIGN(step.left, size_field(json, "start", 0));
  O3_ASSIGN(step.right, size_field(json, "stop", 0));
  out.push_back(std::move(step));
  return {};
}

Result<void> metaspace(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kMetaspace, {}, {}, 0, 0, false};
  O3_ASSIGN(step.a, string_field(json, "replacement"));
  O3_ASSIGN(step.flag, bool_field(json, "add_prefix_space", true));
  if (const auto scheme = json.find("prepend_scheme"); scheme && scheme->string()) {
    step.flag = *scheme->string() != "never";
  }
  out.push_back(std::move(step));
  return {};
}

Result<void> word_piece(const JsonValue& json, int /*depth*/, Steps& out) {
  Step step{Kind::kWordPiece, {}, {}, 0, 0, false};
  O3_ASSIGN(step.a, string_field(json, "prefix"));
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

Result<Decoder> parse_decoder(const std::optional<JsonValue>& json) {
  Steps steps;
  if (!json || json->is_null()) {
    steps.push_back({Kind::kSpaces, {}, {}, 0, 0, false});
  } else {
    O3_TRY(add(*json, 0, steps));
  }
  return Decoder::build(std::move(steps));
}

}  // namespace o3::text
