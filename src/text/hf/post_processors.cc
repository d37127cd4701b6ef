// SPDX-License-Identifier: Apache-2.0
// Post-processors put tokens around a text. Of templates only that for one text is read; ByteLevel
// here only moves offsets, which are not kept.
#include <string>
#include <utility>

#include "base/printable.h"
#include "text/hf/components.h"
#include "text/hf/fields.h"

namespace o3::text {
namespace {

constexpr int kMaxDepth = 8;
constexpr size_t kMaxFrame = 64;  // tokens on one side

class FrameReader {
 public:
  explicit FrameReader(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Each processor wraps what those before it made.
  Result<void> add(const JsonValue& json, int depth) {
    const std::string_view type = type_of(json);
    if (type == "ByteLevel") return {};
    if (type == "Sequence") return sequence(json, depth);
    Frame own;
    if (type == "BertProcessing" || type == "RobertaProcessing") {
      O3_TRY(add_pair(json, "cls", own.before));
      O3_TRY(add_pair(json, "sep", own.after));
    } else if (type == "TemplateProcessing") {
      O3_TRY(read_template(json, own));
    } else {
      return unsupported("tokenizer.json: the post-processor \"" + printable(type) +
                         "\" is not supported; known: ByteLevel, BertProcessing, "
                         "RobertaProcessing, TemplateProcessing, Sequence");
    }
    own.before.insert(own.before.end(), frame_.before.begin(), frame_.before.end());
    frame_.before = std::move(own.before);
    frame_.after.insert(frame_.after.end(), own.after.begin(), own.after.end());
    if (frame_.before.size() > kMaxFrame || frame_.after.size() > kMaxFrame) {
      return invalid("tokenizer.json: the post-processor adds more than 64 tokens");
    }
    return {};
  }
  Frame take() { return std::move(frame_); }

 private:
  Result<void> sequence(const JsonValue& json, int depth) {
    const auto list = json.find("processors");
    if (!list || !list->is_array() || depth > kMaxDepth) {
      return invalid("tokenizer.json: Sequence needs a list of processors, nested at most 8 deep");
    }
    for (const JsonValue step : *list) O3_TRY(add(step, depth + 1));
    return {};
  }

  Result<void> add_token(const std::optional<int64_t>& id, std::vector<Token>& out) const {
    if (!id || *id < 0 || *id >= vocabulary_.size() ||
        !vocabulary_.contains(static_cast<Token>(*id))) {
      return invalid("tokenizer.json: the post-processor adds a token that is not there");
    }
    out.push_back(static_cast<Token>(*id));
    return {};
  }

  // ["[CLS]", 1]
  Result<void> add_pair(const JsonValue& json, std::string_view key,
                        std::vector<Token>& out) const {
    const auto pair = json.find(key);
    if (!pair || !pair->is_array() || pair->size() != 2) {
      return invalid("tokenizer.json: the post-processor's \"" + std::string(key) +
                     "\" must be a text and an id");
    }
    return add_token((*++pair->begin()).integer(), out);
  }

  Result<void> read_template(const JsonValue& json, Frame& own) const {
    const auto single = json.find("single");
    if (!single || !single->is_array()) {
      return invalid("tokenizer.json: TemplateProcessing without \"single\"");
    }
    bool inside = false;  // the text was met
    for (const JsonValue piece : *single) {
      if (const auto special = piece.find("SpecialToken")) {
        O3_TRY(add_special(json, *special, inside ? own.after : own.before));
        continue;
      }
      const auto text = piece.find("Sequence");
      const auto id = text ? text->find("id") : std::nullopt;
      if (!id || id->string() != "A" || inside) {
        return unsupported("tokenizer.json: TemplateProcessing's \"single\" must hold $A once");
      }
      inside = true;
    }
    if (inside) return {};
    return unsupported("tokenizer.json: TemplateProcessing's \"single\" must hold $A once");
  }

  Result<void> add_special(const JsonValue& json, const JsonValue& special,
                           std::vector<Token>& out) const {
    O3_ASSIGN(const std::string name, string_field(special, "id"));
    const auto specials = json.find("special_tokens");
    const auto entry = specials ? specials->find(name) : std::nullopt;
    const auto ids = entry ? entry->find("ids") : std::nullopt;
    if (!ids || !ids->is_array() || ids->size() > kMaxFrame) {
      return invalid("tokenizer.json: TemplateProcessing without ids of \"" + printable(name) +
                     "\"");
    }
    for (const JsonValue id : *ids) O3_TRY(add_token(id.integer(), out));
    return {};
  }

  const Vocabulary& vocabulary_;
  Frame frame_;
};

}  // namespace

Result<Frame> parse_post_processor(const std::optional<JsonValue>& json,
                                   const Vocabulary& vocabulary) {
  FrameReader reader(vocabulary);
  if (json && !json->is_null()) O3_TRY(reader.add(*json, 0));
  return reader.take();
}

}  // namespace o3::text
