// SPDX-License-Identifier: Apache-2.0
#include "text/hf/models.h"

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/printable.h"
#include "text/byte_alphabet.h"
#include "text/hf/fields.h"
#include "text/model/bpe_model.h"
#include "text/model/unigram_model.h"
#include "text/model/word_level_model.h"
#include "text/model/word_piece_model.h"

namespace o3::text {
namespace {

constexpr size_t kMaxWalkedBytes = 4096;  // of a token that is met byte by byte

// Older files leave the type out.
std::string_view model_type(const JsonValue& model) {
  const std::string_view type = type_of(model);
  if (!type.empty()) return type;
  if (model.find("merges")) return "BPE";
  return model.find("unk_id") ? "Unigram" : "WordPiece";
}

bool is_byte_token(std::string_view text) noexcept {
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>';
}

Result<ModelTokens> read_map(const JsonValue& vocab) {
  ModelTokens out;
  out.texts.reserve(vocab.size());
  out.kinds.reserve(vocab.size());
  for (const JsonValue entry : vocab) {
    const auto id = entry.integer();
    if (!id || *id < 0 || *id >= kMaxModelTokens) {
      return invalid("tokenizer.json: token ids must be numbers from 0 to 4194303");
    }
    const auto token = static_cast<Token>(*id);
    if (out.at(token)) {
      return invalid("tokenizer.json: two tokens have the id " + std::to_string(token));
    }
    out.set(token, entry.key(), TokenKind::kNormal);
    ++out.count;
  }
  return out;
}

Result<ModelTokens> read_scored(const JsonValue& vocab) {
  ModelTokens out;
  for (const JsonValue entry : vocab) {
    const auto text = entry.size() == 2 ? (*entry.begin()).string() : std::nullopt;
    const auto score = entry.size() == 2 ? (*++entry.begin()).number() : std::nullopt;
    if (!text || !score || !std::isfinite(*score)) {
      return invalid("tokenizer.json: Unigram needs pairs of a text and a score");
    }
    if (out.count >= static_cast<size_t>(kMaxModelTokens)) {
      return invalid("tokenizer.json: too many tokens");
    }
    out.set(static_cast<Token>(out.count++), *text, TokenKind::kNormal);
    out.scores.push_back(*score);
  }
  return out;
}

// The text of a member, as a token; absent or null: none.
Result<std::optional<Token>> token_field(const JsonValue& model, std::string_view key,
                                         const Vocabulary& vocabulary) {
  const auto value = model.find(key);
  if (!value || value->is_null()) return std::optional<Token>();
  const auto token = value->string() ? vocabulary.find(*value->string()) : std::nullopt;
  if (!token) {
    return invalid("tokenizer.json: \"" + std::string(key) + "\" must be a token's text");
  }
  return token;
}

Result<std::vector<MergePair>> read_merges(const JsonValue& model) {
  const auto merges = model.find("merges");
  std::vector<MergePair> out;
  if (!merges || !merges->is_array()) return invalid("tokenizer.json: BPE needs merges");
  out.reserve(merges->size());
  for (const JsonValue merge : *merges) {
    if (const auto text = merge.string()) {
      if (text->starts_with("#version")) continue;  // the first line of a merges.txt
      const size_t space = text->find(' ');
      if (space == std::string_view::npos || text->find(' ', space + 1) != std::string_view::npos) {
        return invalid("tokenizer.json: merge " + std::to_string(out.size()) +
                       " is not two pieces and a space");
      }
      out.emplace_back(text->substr(0, space), text->substr(space + 1));
      continue;
    }
    const auto left = merge.size() == 2 ? (*merge.begin()).string() : std::nullopt;
    const auto right = merge.size() == 2 ? (*++merge.begin()).string() : std::nullopt;
    if (!left || !right) {
      return invalid("tokenizer.json: merge " + std::to_string(out.size()) + " is not a pair");
    }
    out.emplace_back(*left, *right);
  }
  return out;
}

// Written as the vocabulary is: as bytes, if it is a byte-level one.
Result<std::string> affix_field(const JsonValue& model, std::string_view key, TextForm form) {
  const auto value = model.find(key);
  if (!value || value->is_null()) return std::string();
  O3_ASSIGN(std::string text, string_field(model, key));
  if (form == TextForm::kPlain) return text;
  std::string bytes;
  if (append_alphabet_bytes(text, bytes)) return bytes;
  return unsupported("tokenizer.json: \"" + std::string(key) +
                     "\" must be written in the byte-level alphabet");
}

Result<std::unique_ptr<TokenModel>> bpe(const JsonValue& model,
                                        std::shared_ptr<const Vocabulary> vocabulary) {
  const auto dropout = model.find("dropout");
  if (dropout && dropout->number().value_or(0) > 0) {
    return unsupported(
        "tokenizer.json: BPE with dropout gives other tokens each time; "
        "without it the file would work");
  }
  BpeOptions options;
  const TextForm form = vocabulary->form();
  O3_ASSIGN(options.continuing_prefix, affix_field(model, "continuing_subword_prefix", form));
  O3_ASSIGN(options.word_suffix, affix_field(model, "end_of_word_suffix", form));
  O3_ASSIGN(options.unknown, token_field(model, "unk_token", *vocabulary));
  O3_ASSIGN(options.fuse_unknown, bool_field(model, "fuse_unk", false));
  O3_ASSIGN(options.byte_fallback, bool_field(model, "byte_fallback", false));
  O3_ASSIGN(options.ignore_merges, bool_field(model, "ignore_merges", false));
  O3_ASSIGN(const std::vector<MergePair> pairs, read_merges(model));
  O3_ASSIGN(MergeTable merges,
            MergeTable::build(pairs, *vocabulary, options.continuing_prefix.size()));
  return std::unique_ptr<TokenModel>(
      std::make_unique<BpeModel>(std::move(vocabulary), std::move(merges), options));
}

Result<void> check_walked(const Vocabulary& vocabulary) {
  for (Token token = 0; token < vocabulary.size(); ++token) {
    if (vocabulary.bytes(token).size() > kMaxWalkedBytes) {
      return invalid("tokenizer.json: a token is longer than 4096 bytes");
    }
  }
  return {};
}

Result<std::unique_ptr<TokenModel>> unigram(const JsonValue& model, const ModelTokens& tokens,
                                            const Vocabulary& vocabulary) {
  O3_TRY(check_walked(vocabulary));
  O3_ASSIGN(const bool fallback, bool_field(model, "byte_fallback", false));
  std::optional<Token> unknown;
  if (const auto id = model.find("unk_id"); id && !id->is_null()) {
    const auto number = id->integer();
    if (!number || *number < 0 || *number >= static_cast<int64_t>(tokens.count)) {
      return invalid("tokenizer.json: \"unk_id\" must be a token's id");
    }
    unknown = static_cast<Token>(*number);
  }
  std::vector<double> scores = tokens.scores;
  scores.resize(static_cast<size_t>(vocabulary.size()));
  return std::unique_ptr<TokenModel>(
      std::make_unique<UnigramModel>(vocabulary, std::move(scores), unknown, fallback));
}

Result<std::unique_ptr<TokenModel>> word_piece(const JsonValue& model,
                                               const Vocabulary& vocabulary) {
  O3_TRY(check_walked(vocabulary));
  WordPieceOptions options;
  O3_ASSIGN(const std::optional<Token> unknown, token_field(model, "unk_token", vocabulary));
  if (!unknown) return invalid("tokenizer.json: WordPiece needs an unk_token");
  options.unknown = *unknown;
  if (const auto prefix = model.find("continuing_subword_prefix"); prefix && prefix->string()) {
    options.continuing_prefix = *prefix->string();
  }
  O3_ASSIGN(options.max_characters, size_field(model, "max_input_chars_per_word", 100));
  return std::unique_ptr<TokenModel>(std::make_unique<WordPieceModel>(vocabulary, options));
}

Result<std::unique_ptr<TokenModel>> word_level(const JsonValue& model,
                                               std::shared_ptr<const Vocabulary> vocabulary) {
  O3_ASSIGN(const std::optional<Token> unknown, token_field(model, "unk_token", *vocabulary));
  if (!unknown) return invalid("tokenizer.json: WordLevel needs an unk_token");
  return std::unique_ptr<TokenModel>(
      std::make_unique<WordLevelModel>(std::move(vocabulary), *unknown));
}

}  // namespace

void ModelTokens::set(Token token, std::string_view text, TokenKind kind) {
  const auto index = static_cast<size_t>(token);
  if (index >= kinds.size()) {
    texts.resize(index + 1);
    kinds.resize(index + 1, TokenKind::kAbsent);
  }
  texts[index] = text;
  kinds[index] = kind;
}

// One pass over the vocabulary, which is much longer than the list.
std::vector<Token> ModelTokens::find(std::span<const std::string_view> wanted) const {
  std::unordered_map<std::string_view, Token> found;
  for (const std::string_view text : wanted) found.emplace(text, -1);
  for (size_t i = 0; i < texts.size(); ++i) {
    if (kinds[i] == TokenKind::kAbsent) continue;
    const auto entry = found.find(texts[i]);
    if (entry != found.end() && entry->second < 0) entry->second = static_cast<Token>(i);
  }
  std::vector<Token> out;
  out.reserve(wanted.size());
  for (const std::string_view text : wanted) out.push_back(found.at(text));
  return out;
}

Result<ModelTokens> read_model_tokens(const JsonValue& model) {
  const std::string_view type = model_type(model);
  const auto vocab = model.find("vocab");
  const bool scored = type == "Unigram";
  if (!vocab || !(scored ? vocab->is_array() : vocab->is_object())) {
    return invalid("tokenizer.json: the model has no vocab");
  }
  O3_ASSIGN(ModelTokens tokens, scored ? read_scored(*vocab) : read_map(*vocab));
  O3_ASSIGN(const bool fallback, bool_field(model, "byte_fallback", false));
  for (size_t i = 0; fallback && i < tokens.texts.size(); ++i) {
    if (is_byte_token(tokens.texts[i])) tokens.kinds[i] = TokenKind::kByte;
  }
  const auto unknown = model.find("unk_token");
  if (unknown && unknown->string()) {
    const std::array<std::string_view, 1> wanted = {*unknown->string()};
    const Token token = tokens.find(wanted)[0];
    if (token >= 0) tokens.kinds[static_cast<size_t>(token)] = TokenKind::kUnknown;
  }
  return tokens;
}

Result<std::unique_ptr<TokenModel>> build_model(const JsonValue& model, const ModelTokens& tokens,
                                                std::shared_ptr<const Vocabulary> vocabulary) {
  const std::string_view type = model_type(model);
  if (type == "BPE") return bpe(model, std::move(vocabulary));
  if (type == "Unigram") return unigram(model, tokens, *vocabulary);
  if (type == "WordPiece") return word_piece(model, *vocabulary);
  if (type == "WordLevel") return word_level(model, std::move(vocabulary));
  return unsupported("tokenizer.json: the model \"" + printable(type) +
                     "\" is not supported; known: BPE, Unigram, WordPiece, WordLevel");
}

}  // namespace o3::text
