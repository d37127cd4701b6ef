// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "text/hf/components.h"
#include "text/hf/fields.h"
#include "text/unicode/reference_classes.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxSteps = 64;  // of a whole sequence; published ones have 6 at most
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Collects the steps of nested sequences in one row.
class Builder {
 public:
  Result<ParsedPreTokenizer> build(const JsonValue& json) {
    O3_TRY(add(json, 0));
    ParsedPreTokenizer out;
    out.byte_level = byte_level_;
    if (steps_.size() == 1) out.steps = std::move(steps_[0]);
    if (steps_.size() > 1) out.steps = pre_tokenizer_sequence(std::move(steps_));
    return out;
  }

 private:
  struct Row {
    std::string_view type;
    Result<void> (Builder::*add)(const JsonValue& json, int depth);
    bool cuts_only;  // may stand behind ByteLevel
  };
  static const std::array<Row, 12> kRows;

  Result<void> add(const JsonValue& json, int depth) {
    std::string known;
    for (const Row& row : kRows) {
      if (row.type == type_of(json)) {
        if (byte_level_ && depth >= 0 && row.type != "Sequence") {
          if (!row.cuts_only) {
            return unsupported("tokenizer.json: " + std::string(row.type) +
                               " behind ByteLevel is not supported");
          }
          if (!mapped_) steps_.push_back(byte_alphabet());
          mapped_ = true;
        }
        return (this->*row.add)(json, depth);
      }
      known += (known.empty() ? "" : ", ") + std::string(row.type);
    }
    return unsupported("tokenizer.json: the pre-tokenizer \"" + printable(type_of(json)) +
                       "\" is not supported; known: " + known);
  }

  Result<void> sequence(const JsonValue& json, int depth) {
    const auto list = json.find("pretokenizers");
    if (!list || !list->is_array() || depth > kMaxDepth) {
      return invalid(
          "tokenizer.json: Sequence needs a list of pretokenizers, nested at most 8 deep");
    }
    for (const JsonValue step : *list) {
      // Compiling an expression takes time that grows faster than its text.
      if (steps_.size() >= kMaxSteps) {
        return invalid("tokenizer.json: more than " + std::to_string(kMaxSteps) +
                       " pre-tokenizers in a row");
      }
      O3_TRY(add(step, depth + 1));
    }
    return {};
  }

  Result<void> byte_level(const JsonValue& json, int /*depth*/) {
    O3_ASSIGN(const bool space, bool_field(json, "add_prefix_space", true));
    O3_ASSIGN(const bool regex, bool_field(json, "use_regex", true));
    if (space) steps_.push_back(prefix_space());
    if (regex) O3_TRY(add_regex(kGpt2, SplitBehavior::kIsolated, false));
    byte_level_ = true;
    return {};
  }

  Result<void> split(const JsonValue& json, int /*depth*/) {
    O3_ASSIGN(const Pattern pattern, pattern_field(json));
    O3_ASSIGN(const bool invert, bool_field(json, "invert", false));
    O3_ASSIGN(const SplitBehavior behavior, behavior_field(json));
    O3_ASSIGN(Regex regex, compile_pattern(pattern));
    steps_.push_back(regex_split(std::move(regex), behavior, invert));
    return {};
  }

  Result<void> digits(const JsonValue& json, int /*depth*/) {
    O3_ASSIGN(const bool single, bool_field(json, "individual_digits", false));
    return add_set(reference_numeric(),
                   single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }

  Result<void> punctuation(const JsonValue& json, int /*depth*/) {
    SplitBehavior behavior = SplitBehavior::kIsolated;
    if (json.find("behavior")) {
      O3_ASSIGN(behavior, behavior_field(json));
    }
    return add_set(reference_punctuation(), behavior);
  }

  Result<void> meta(const JsonValue& json, int /*depth*/) {
    O3_ASSIGN(std::string replacement, string_field(json, "replacement"));
    O3_ASSIGN(const bool cut, bool_field(json, "split", true));
    O3_ASSIGN(const bool legacy, bool_field(json, "add_prefix_space", true));
    Prepend prepend = legacy ? Prepend::kAlways : Prepend::kNever;
    if (const auto scheme = json.find("prepend_scheme"); scheme && scheme->string()) {
      prepend = *scheme->string() == "first"   ? Prepend::kFirst
                : *scheme->string() == "never" ? Prepend::kNever
                                               : Prepend::kAlways;
    }
    if (replacement.empty() || next_utf8_unit(replacement).bytes != replacement.size()) {
      return invalid("tokenizer.json: Metaspace needs a replacement of one character");
    }
    steps_.push_back(metaspace(std::move(replacement), prepend, cut));
    return {};
  }

  Result<void> white_space(const JsonValue& /*json*/, int /*depth*/) {
    return add_regex(R"([\w\x{200C}\x{200D}]+|[^\w\s\x{200C}\x{200D}]+)", SplitBehavior::kRemoved,
                     true);
  }
  Result<void> white_space_split(const JsonValue& /*json*/, int /*depth*/) {
    return add_regex(R"(\s)", SplitBehavior::kRemoved, false);
  }
  Result<void> bert(const JsonValue& /*json*/, int /*depth*/) {
    O3_TRY(add_regex(R"(\s)", SplitBehavior::kRemoved, false));
    return add_set(reference_punctuation(), SplitBehavior::kIsolated);
  }

  Result<void> delimiter(const JsonValue& json, int /*depth*/) {
    O3_ASSIGN(const std::string text, string_field(json, "delimiter"));
    if (text.empty() || next_utf8_unit(text).bytes != text.size()) {
      return invalid("tokenizer.json: CharDelimiterSplit needs a delimiter of one character");
    }
    const char32_t code = next_utf8_unit(text).code;
    return add_set({{code, code}}, SplitBehavior::kRemoved);
  }
  Result<void> scripts(const JsonValue& /*json*/, int /*depth*/) {
    steps_.push_back(script_split());
    return {};
  }
  Result<void> fixed_length(const JsonValue& json, int /*depth*/) {
    O3_ASSIGN(const size_t length, size_field(json, "length", 5));
    if (length == 0) return invalid("tokenizer.json: FixedLength needs a length of at least 1");
    steps_.push_back(fixed_length_split(length));
    return {};
  }

  Result<void> add_regex(std::string_view pattern, SplitBehavior behavior, bool invert) {
    O3_ASSIGN(Regex regex, Regex::compile(pattern));
    steps_.push_back(regex_split(std::move(regex), behavior, invert));
    return {};
  }
  Result<void> add_set(std::vector<CharSet::Range> ranges, SplitBehavior behavior) {
    O3_ASSIGN(Regex regex, Regex::of_set(CharSet(std::move(ranges))));
    steps_.push_back(regex_split(std::move(regex), behavior, false));
    return {};
  }

  static Result<SplitBehavior> behavior_field(const JsonValue& json) {
    constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
        {"Removed", SplitBehavior::kRemoved},
        {"Isolated", SplitBehavior::kIsolated},
        {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
        {"MergedWithNext", SplitBehavior::kMergedWithNext},
        {"Contiguous", SplitBehavior::kContiguous},
    }};
    O3_ASSIGN(const std::string name, string_field(json, "behavior"));
    for (const auto& [text, behavior] : kNames) {
      if (text == name) return behavior;
    }
    return unsupported("tokenizer.json: the split behavior \"" + printable(name) +
                       "\" is not known");
  }

  std::vector<PreTokenizerPtr> steps_;
  bool byte_level_ = false;  // a ByteLevel was met
  bool mapped_ = false;      // and its alphabet is needed by a later step
};

const std::array<Builder::Row, 12> Builder::kRows = {{
    {"Sequence", &Builder::sequence, true},
    {"ByteLevel", &Builder::byte_level, false},
    {"Split", &Builder::split, true},
    {"Digits", &Builder::digits, true},
    {"Punctuation", &Builder::punctuation, true},
    {"Metaspace", &Builder::meta, false},
    {"Whitespace", &Builder::white_space, true},
    {"WhitespaceSplit", &Builder::white_space_split, true},
    {"BertPreTokenizer", &Builder::bert, true},
    {"CharDelimiterSplit", &Builder::delimiter, true},
    {"UnicodeScripts", &Builder::scripts, true},
    {"FixedLength", &Builder::fixed_length, true},
}};

}  // namespace

Result<ParsedPreTokenizer> parse_pre_tokenizer(const std::optional<JsonValue>& json) {
  if (!json || json->is_null()) return ParsedPreTokenizer{};
  return Builder().build(*json);
}

}  // namespace o3::text
