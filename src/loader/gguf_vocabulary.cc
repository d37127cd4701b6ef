// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_vocabulary.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "loader/hf_tokenizer.h"
#include "text/gguf/pre_names.h"
#include "text/gguf/tokenizer_export.h"
#include "text/white_space.h"

namespace o3::loader {
namespace {

using nlohmann::json;
using text::TokenKind;

// Where pre-tokenizers differ: white space of every kind, digits, contractions, case, marks,
// scripts without spaces, emoji made of several characters, punctuation, code.
constexpr std::string_view kProbes[] = {
    "Hello World, hello  world   and    more\n\n\n\ttabs\t\t\r\n \n  \n   x\n",
    "3 33 333 3333 33333 333333 3333333 3.14 1,000,000 2nd v2.0 a1b2 ١٢٣٤ ²³",
    "I've you're he'll she'd we'RE THEY'VE 'tis 'twas it''s l'été aujourd’hui",
    "CamelCaseWord snake_case_word kebab-case XMLHttpRequest iPhone ABCdef İstanbul ǅ",
    "if (x == 3) { return a[i] += *b->c; }  // note\n#include <x>\n\tdef f(x): pass",
    "!!!??? ...--- ====== ~~~ \"quoted\" «guillemets» (a)[b]{c} /path/to/file.txt @me #tag $5 50%",
    "日本語の文章です。 中文字符测试 한국어 문장 ภาษาไทย हिन्दी में العربية עברית Ελληνικά кириллица",
    "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2705",
    "\u00a0x\u2003y\u3000z\u200bw\u2028v",
    // What Unicode's normalization forms change.
    "e\u0301 \u00e9 \u212b \u2126 \u037e \u1100\u1161 q\u0323\u0307 \ufb01 \u2122 \uff21",
    " leading",
    "  two leading",
    "trailing ",
    "trailing  ",
    " ",
    "\n",
    "",
    "a",
    "\u2581x \u2581",
};
constexpr size_t kMostAdded = 64;  // added tokens that are tried inside a text

std::string plain_spaces(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const bool meta = text.compare(at, text::kMetaspace.size(), text::kMetaspace) == 0;
    out += meta ? ' ' : text[at];
    at += meta ? text::kMetaspace.size() : 1;
  }
  return out;
}

bool is_byte_name(const std::string& text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">");
}

// A member that changes no token, and that not all write.
json without_offsets(json step) {
  if (!step.is_object()) return step;
  step.erase("trim_offsets");
  const auto inner = step.find("pretokenizers");
  if (inner != step.end() && inner->is_array()) {
    for (json& one : *inner) one = without_offsets(std::move(one));
  }
  return step;
}

class Vocabulary {
 public:
  Vocabulary(const json& file, const text::Tokenizer& tokenizer)
      : file_(file), model_(file["model"]), tokenizer_(tokenizer) {}

  Result<GgufVocabulary> run(std::optional<Token> end, int64_t rows) {
    const bool pairs = model_.contains("merges") && model_["merges"].is_array();
    if (!pairs || !model_.contains("vocab") || !model_["vocab"].is_object()) {
      return unsupported("GGUF has words for tokenizers of type BPE only");
    }
    by_characters_ = model_.value("byte_fallback", false);
    made_.model = by_characters_ ? "llama" : "gpt2";
    made_.bos = tokenizer_.bos();
    made_.eos = tokenizer_.eos() ? tokenizer_.eos() : end;
    made_.unknown = tokenizer_.unknown();
    made_.add_bos = tokenizer_.adds_bos();
    O3_TRY(take_tokens(rows));
    O3_TRY(take_merges());
    return by_characters_ ? try_characters() : try_pre_names();
  }

 private:
  Result<void> place(int64_t id, const std::string& text, TokenKind kind) {
    if (id < 0 || id >= static_cast<int64_t>(made_.tokens.size())) {
      return invalid("token " + std::to_string(id) + " is outside the embedding of " +
                     std::to_string(made_.tokens.size()) + " rows");
    }
    made_.tokens[static_cast<size_t>(id)] = text;
    made_.kinds[static_cast<size_t>(id)] = static_cast<int32_t>(kind);
    return {};
  }

  Result<void> take_tokens(int64_t rows) {
    made_.tokens.resize(static_cast<size_t>(rows));
    made_.kinds.resize(static_cast<size_t>(rows), static_cast<int32_t>(TokenKind::kUnused));
    for (int64_t id = 0; id < rows; ++id) {
      made_.tokens[static_cast<size_t>(id)] = "[PAD" + std::to_string(id) + "]";
    }
    for (const auto& [text, id] : model_["vocab"].items()) {
      if (!id.is_number_integer()) return invalid("model.vocab holds ids that are not whole");
      const bool byte = by_characters_ && is_byte_name(text);
      const auto number = id.get<int64_t>();
      O3_TRY(place(number, text, byte ? TokenKind::kByte : TokenKind::kNormal));
      if (made_.unknown == number) O3_TRY(place(number, text, TokenKind::kUnknown));
    }
    return take_added();
  }

  Result<void> take_added() {
    const auto added = file_.find("added_tokens");
    if (added == file_.end() || !added->is_array()) return {};
    for (const json& token : *added) {
      const auto id = token.value("id", int64_t{-1});
      const bool special = token.value("special", false);
      std::string text = token.value("content", "");
      if (added_.size() < kMostAdded) added_.push_back(text);
      if (!special && by_characters_) text = plain_spaces(text);
      const bool unknown = special && made_.unknown == id;
      O3_TRY(place(id, text,
                   unknown   ? TokenKind::kUnknown
                   : special ? TokenKind::kControl
                             : TokenKind::kUserDefined));
    }
    return {};
  }

  Result<void> take_merges() {
    std::unordered_map<std::string, float> scores;
    for (const json& merge : model_["merges"]) {
      std::string left;
      std::string right;
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      } else if (merge.is_string()) {
        const auto& text = merge.get_ref<const std::string&>();
        const size_t space = text.find(' ', 1);
        if (space == std::string::npos) return invalid("model.merges holds no pair");
        left = text.substr(0, space);
        right = text.substr(space + 1);
      }
      if (by_characters_) {
        scores.emplace(left + right, -static_cast<float>(scores.size()));
        pairs_.emplace(std::move(left), std::move(right));
      } else {
        made_.merges.push_back(std::move(left.append(" ").append(right)));
      }
    }
    if (!by_characters_) return {};
    // What no merge makes is never looked for by its score.
    const float least = -static_cast<float>(scores.size()) - 1.0F;
    for (const std::string& text : made_.tokens) {
      const auto found = scores.find(text);
      made_.scores.push_back(found == scores.end() ? least : found->second);
    }
    return {};
  }

  // llama.cpp merges any two neighbours that make a token, so the pairs must be all of them.
  Result<GgufVocabulary> try_characters() {
    for (const bool prefix : {true, false}) {
      made_.add_space_prefix = prefix;
      if (!cuts_alike()) continue;
      O3_ASSIGN(const auto exported, text::tokenizer_json(made_.spec()));
      std::set<std::pair<std::string, std::string>> pairs;
      for (const auto& pair : exported["model"]["merges"]) {
        pairs.emplace(pair[0].get<std::string>(), pair[1].get<std::string>());
      }
      if (pairs == pairs_) return std::move(made_);
    }
    return unsupported("no tokenizer.ggml.model cuts text as this tokenizer.json does");
  }

  Result<GgufVocabulary> try_pre_names() {
    const auto names = text::known_pre_names();
    std::vector<text::PreName> ordered(names.begin(), names.end());
    // A small vocabulary may not tell them apart: those written alike come first.
    std::stable_partition(ordered.begin(), ordered.end(),
                          [this](const text::PreName& name) { return is_written_alike(name); });
    const bool ignores = model_.value("ignore_merges", false);
    for (const text::PreName& name : ordered) {
      if (name.ignore_merges != ignores) continue;
      made_.pre = name.name;
      if (cuts_alike()) return std::move(made_);
    }
    return unsupported("no tokenizer.ggml.pre cuts text as this tokenizer.json does");
  }

  bool is_written_alike(const text::PreName& name) const {
    const json normalizer = name.normalizer.empty() ? json() : json::parse(name.normalizer);
    return normalizer == file_.value("normalizer", json()) &&
           without_offsets(json::parse(name.pre_tokenizer)) ==
               without_offsets(file_.value("pre_tokenizer", json()));
  }

  bool cuts_alike() const {
    const auto other = text::load_tokenizer(made_.spec());
    if (!other.ok()) return false;
    const auto same = [&](std::string_view text) {
      const auto a = tokenizer_.encode(text, text::SpecialTokens::kParse);
      const auto b = (*other)->encode(text, text::SpecialTokens::kParse);
      return a.ok() && b.ok() && *a == *b;
    };
    return std::all_of(std::begin(kProbes), std::end(kProbes), same) &&
           std::all_of(added_.begin(), added_.end(), [&](const std::string& token) {
             return same("a  " + token + "  b") && same(token + token + "x" + token);
           });
  }

  const json& file_;
  const json& model_;
  const text::Tokenizer& tokenizer_;
  bool by_characters_ = false;
  std::vector<std::string> added_;
  std::set<std::pair<std::string, std::string>> pairs_;
  GgufVocabulary made_;
};

}  // namespace

text::TokenizerSpec GgufVocabulary::spec() const {
  text::TokenizerSpec spec;
  spec.model = model;
  spec.pre = pre;
  spec.tokens.assign(tokens.begin(), tokens.end());
  spec.kinds = kinds;
  spec.merges.assign(merges.begin(), merges.end());
  spec.scores = scores;
  spec.bos = bos;
  spec.eos = eos;
  spec.unknown = unknown;
  spec.add_bos = add_bos;
  spec.add_space_prefix = add_space_prefix;
  return spec;
}

void GgufVocabulary::add_to(artifact::GgufWriter& writer) const {
  writer.add("tokenizer.ggml.model", model);
  writer.add("tokenizer.ggml.pre", pre.empty() ? "default" : pre);
  writer.add_array("tokenizer.ggml.tokens", tokens);
  writer.add_array("tokenizer.ggml.token_type", std::span<const int32_t>(kinds));
  if (!scores.empty()) writer.add_array("tokenizer.ggml.scores", std::span<const float>(scores));
  if (!merges.empty()) writer.add_array("tokenizer.ggml.merges", merges);
  if (unknown) {
    writer.add_scalar("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(*unknown));
  }
  writer.add_scalar("tokenizer.ggml.add_bos_token", add_bos);
  writer.add_scalar("tokenizer.ggml.add_space_prefix", add_space_prefix);
}

Result<GgufVocabulary> gguf_vocabulary(std::string_view text, const text::Tokenizer& tokenizer,
                                       std::optional<Token> end, int64_t rows) {
  O3_ASSIGN(const json file, read_tokenizer_json(text));
  const auto model = file.find("model");
  if (model == file.end() || !model->is_object()) return invalid("tokenizer.json has no model");
  try {
    return Vocabulary(file, tokenizer).run(end, rows);
  } catch (const json::exception& problem) {  // a member of another type than it has to be
    return invalid(std::string("tokenizer.json: ") + problem.what());
  }
}

}  // namespace o3::loader
