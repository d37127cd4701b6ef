// SPDX-License-Identifier: Apache-2.0
#include "text/gguf/tokenizer_export.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "text/gguf/pre_names.h"
#include "text/gguf/token_kinds.h"
#include "text/unicode/utf8.h"
#include "text/white_space.h"

namespace o3::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxSplitBytes = 4096;  // of a token that is cut in two in every way

// SentencePiece's spelling of spaces; converters to GGUF write those of user-defined tokens
// plainly.
std::string with_metaspaces(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? std::string(kMetaspace) : std::string(1, c);
  return out;
}

// A member that the reference asks for and that changes no token.
Json with_offsets(Json step) {
  if (step.contains("pretokenizers")) {
    for (Json& inner : step["pretokenizers"]) inner = with_offsets(std::move(inner));
  }
  if (step["type"] == "ByteLevel") step["trim_offsets"] = true;
  return step;
}

class Exporter {
 public:
  explicit Exporter(const TokenizerSpec& spec) : spec_(spec) {}

  Result<Json> run() {
    const bool bytes = spec_.model == "gpt2";
    if (!bytes && spec_.model != "llama" && spec_.model != "gemma4") {
      return unsupported("no tokenizer.json for the tokenizer model \"" + printable(spec_.model) +
                             "\"; gpt2, llama and gemma4 would work",
                         "tokenizer.ggml.model");
    }
    O3_ASSIGN(kinds_, token_kinds(spec_));
    O3_TRY(take_texts(bytes));
    Json json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
    json["added_tokens"] = added();
    if (bytes) {
      O3_TRY(add_byte_level(json));
    } else {
      O3_TRY(add_characters(json));
    }
    return json;
  }

 private:
  bool is_special(size_t id) const {
    return kinds_[id] == TokenKind::kControl || kinds_[id] == TokenKind::kUnknown;
  }

  Result<void> take_texts(bool bytes) {
    for (size_t id = 0; id < spec_.tokens.size(); ++id) {
      const bool user = kinds_[id] == TokenKind::kUserDefined;
      std::string text(spec_.tokens[id]);
      // With a space put in front, runs of spaces are met in the text as it was written.
      if (!bytes && user && !spec_.add_space_prefix) text = with_metaspaces(text);
      if (!is_utf8(text)) {
        return invalid("token " + std::to_string(id) + " is not UTF-8", "tokenizer.ggml.tokens");
      }
      if (!ids_.emplace(text, id).second) {
        return unsupported(
            "token " + std::to_string(id) + " is there twice, which no tokenizer.json can say",
            "tokenizer.ggml.tokens");
      }
      texts_.push_back(std::move(text));
    }
    return {};
  }

  Json added() const {
    Json list = Json::array();
    for (size_t id = 0; id < texts_.size(); ++id) {
      const bool special = is_special(id);
      if (!special && kinds_[id] != TokenKind::kUserDefined) continue;
      list.push_back({{"id", id},
                      {"content", texts_[id]},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      // Runs of spaces are met where the text has been normalized.
                      {"normalized", !special && texts_[id].find(kMetaspace) != std::string::npos},
                      {"special", special}});
    }
    return list;
  }

  // Puts BOS in front, as tokenizer.ggml.add_bos_token says.
  Json post_processor() const {
    if (!spec_.add_bos || !spec_.bos) return nullptr;
    const std::string& text = texts_[static_cast<size_t>(*spec_.bos)];
    const Json bos = {{"SpecialToken", {{"id", text}, {"type_id", 0}}}};
    const auto sequence = [](const char* id, int type) {
      return Json{{"Sequence", {{"id", id}, {"type_id", type}}}};
    };
    return {
        {"type", "TemplateProcessing"},
        {"single", Json::array({bos, sequence("A", 0)})},
        {"pair", Json::array({bos, sequence("A", 0), bos, sequence("B", 1)})},
        {"special_tokens",
         {{text,
           {{"id", text}, {"ids", Json::array({*spec_.bos})}, {"tokens", Json::array({text})}}}}}};
  }

  // ordered_json looks every key up before it adds it; these are known to be distinct.
  Json vocabulary() const {
    Json object = Json::object();
    auto& members = object.get_ref<Json::object_t&>();
    members.reserve(texts_.size());
    for (size_t id = 0; id < texts_.size(); ++id) members.emplace_back(texts_[id], id);
    return object;
  }

  static Json pair(std::string_view left, std::string_view right) {
    return Json::array({std::string(left), std::string(right)});
  }

  Json given_merges() const {
    Json list = Json::array();
    for (const std::string_view merge : spec_.merges) {
      const size_t space = merge.find(' ', 1);
      if (space != std::string_view::npos) {
        list.push_back(pair(merge.substr(0, space), merge.substr(space + 1)));
      }
    }
    return list;
  }

  Json merges_of_scores() const {
    // Best score first, then by the ids of both halves.
    std::vector<std::tuple<float, size_t, size_t>> found;
    for (size_t id = 0; id < texts_.size(); ++id) {
      const std::string_view text = texts_[id];
      if (text.size() > kMaxSplitBytes || is_special(id)) continue;
      std::vector<std::tuple<float, size_t, size_t>> local;
      for (size_t cut = 1; cut < text.size(); ++cut) {
        const auto left = ids_.find(std::string(text.substr(0, cut)));
        if (left == ids_.end()) continue;
        const auto right = ids_.find(std::string(text.substr(cut)));
        if (right != ids_.end()) local.emplace_back(-spec_.scores[id], left->second, right->second);
      }
      std::sort(local.begin(), local.end());
      found.insert(found.end(), local.begin(), local.end());
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
    Json list = Json::array();
    for (const auto& [score, left, right] : found) {
      list.push_back(pair(texts_[left], texts_[right]));
    }
    return list;
  }

  Result<void> add_byte_level(Json& json) const {
    O3_ASSIGN(const PreName pre, pre_by_name(spec_.pre));
    json["normalizer"] = pre.normalizer.empty() ? Json() : Json::parse(pre.normalizer);
    json["pre_tokenizer"] = with_offsets(Json::parse(pre.pre_tokenizer));
    json["post_processor"] = post_processor();
    json["decoder"] = {{"type", "ByteLevel"},
                       {"add_prefix_space", true},
                       {"trim_offsets", true},
                       {"use_regex", true}};
    json["model"] = {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", nullptr},
                     {"end_of_word_suffix", nullptr},
                     {"fuse_unk", false},
                     {"byte_fallback", false},
                     {"ignore_merges", pre.ignore_merges},
                     {"vocab", vocabulary()},
                     {"merges", given_merges()}};
    return {};
  }

  Result<void> add_characters(Json& json) const {
    const bool scored = spec_.model == "llama";
    if (scored && spec_.scores.size() != spec_.tokens.size()) {
      return invalid("there must be one score for each token", "tokenizer.ggml.scores");
    }
    const std::string space(kMetaspace);
    const auto replace = [](const std::string& from, const std::string& to) {
      return Json{{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
    };
    Json normalizers = Json::array();
    if (spec_.add_space_prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", space}});
    normalizers.push_back(replace(" ", space));
    Json decoders =
        Json::array({replace(space, " "), Json{{"type", "ByteFallback"}}, Json{{"type", "Fuse"}}});
    if (spec_.add_space_prefix) {
      decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    }
    json["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
    json["pre_tokenizer"] = nullptr;
    json["post_processor"] = post_processor();
    json["decoder"] = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
    json["model"] = {
        {"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", spec_.unknown ? Json(texts_[static_cast<size_t>(*spec_.unknown)]) : Json()},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", true},
        {"byte_fallback", true},
        {"ignore_merges", false},
        {"vocab", vocabulary()},
        {"merges", scored ? merges_of_scores() : given_merges()}};
    return {};
  }

  const TokenizerSpec& spec_;
  std::vector<TokenKind> kinds_;    // by id
  std::vector<std::string> texts_;  // by id, as tokenizer.json writes them
  std::unordered_map<std::string, size_t> ids_;
};

}  // namespace

Result<Json> tokenizer_json(const TokenizerSpec& spec) {
  return Exporter(spec).run();
}

}  // namespace o3::text
