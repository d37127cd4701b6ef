// SPDX-License-Identifier: Apache-2.0
// Tokenizers from GGUF metadata: the file has the vocabulary, names stand for the components.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/printable.h"
#include "text/gguf/pre_names.h"
#include "text/gguf/token_kinds.h"
#include "text/hf/components.h"
#include "text/hf/json_tree.h"
#include "text/model/bpe_model.h"
#include "text/model/unigram_model.h"
#include "text/model/word_piece_model.h"
#include "text/pipeline_tokenizer.h"
#include "text/tokenizer_spec.h"
#include "text/unicode/utf8.h"
#include "text/white_space.h"

namespace o3::text {
namespace {

constexpr size_t kMaxAddedBytes = 1024;   // bounds the work per character of matching their texts
constexpr size_t kMaxWalkedBytes = 4096;  // of a token that is met byte by byte

std::string token_text(size_t token) {
  return "token " + std::to_string(token);
}

Result<std::vector<AddedToken>> added_of(const TokenizerSpec& spec,
                                         const std::vector<TokenKind>& kinds) {
  std::vector<AddedToken> added;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool special = kinds[i] == TokenKind::kControl || kinds[i] == TokenKind::kUnknown;
    if (!special && kinds[i] != TokenKind::kUserDefined) continue;
    const std::string_view text = spec.tokens[i];
    if (text.empty() || text.size() > kMaxAddedBytes || !is_utf8(text)) {
      return invalid(token_text(i) + " is a control token whose text is empty, longer than " +
                         std::to_string(kMaxAddedBytes) + " bytes or not UTF-8",
                     "tokenizer.ggml.tokens");
    }
    AddedToken token;
    token.text = text;
    token.token = static_cast<Token>(i);
    token.special = special;
    token.free = !special && is_spacing(text);
    added.push_back(std::move(token));
  }
  return added;
}

Result<void> check_scores(const TokenizerSpec& spec) {
  const bool finite = std::all_of(spec.scores.begin(), spec.scores.end(),
                                  [](float score) { return std::isfinite(score); });
  if (spec.scores.size() == spec.tokens.size() && finite) return {};
  return invalid("there must be one finite score for each of the " +
                     std::to_string(spec.tokens.size()) + " tokens",
                 "tokenizer.ggml.scores");
}

Result<void> check_walked(const TokenizerSpec& spec) {
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    if (spec.tokens[i].size() > kMaxWalkedBytes) {
      return invalid(token_text(i) + " is longer than 4096 bytes", "tokenizer.ggml.tokens");
    }
  }
  return {};
}

// What all kinds share; the caller adds components and the model.
Result<TokenizerParts> common_parts(const TokenizerSpec& spec,
                                    std::span<const std::string_view> texts, TextForm form) {
  O3_ASSIGN(const std::vector<TokenKind> kinds, token_kinds(spec));
  TokenizerParts parts;
  O3_ASSIGN(Vocabulary vocabulary, Vocabulary::build(texts, kinds, form, Alike::kFirstCounts));
  parts.vocabulary = std::make_shared<const Vocabulary>(std::move(vocabulary));
  O3_ASSIGN(parts.added, added_of(spec, kinds));
  parts.bos = spec.bos;
  parts.eos = spec.eos;
  parts.add_bos = spec.add_bos;
  if (spec.add_bos && !spec.bos) {
    return invalid("the tokenizer adds a bos token, but none is named",
                   "tokenizer.ggml.bos_token_id");
  }
  return parts;
}

Result<std::unique_ptr<Tokenizer>> finish(TokenizerParts parts) {
  return PipelineTokenizer::build(std::move(parts));
}

// Byte-level BPE.
Result<std::unique_ptr<Tokenizer>> load_byte_level(const TokenizerSpec& spec) {
  O3_ASSIGN(const PreName pre, pre_by_name(spec.pre));
  O3_ASSIGN(TokenizerParts parts, common_parts(spec, spec.tokens, TextForm::kByteAlphabet));
  if (!pre.normalizer.empty()) {
    O3_ASSIGN(const JsonTree json, JsonTree::parse(pre.normalizer));
    O3_ASSIGN(parts.normalizer, parse_normalizer(json.root()));
  }
  O3_ASSIGN(const JsonTree json, JsonTree::parse(pre.pre_tokenizer));
  O3_ASSIGN(ParsedPreTokenizer parsed, parse_pre_tokenizer(json.root()));
  parts.pre_tokenizer = std::move(parsed.steps);
  O3_ASSIGN(const auto pairs, split_merges(spec.merges));
  O3_ASSIGN(MergeTable merges, MergeTable::build(pairs, *parts.vocabulary));
  BpeOptions options;
  options.ignore_merges = pre.ignore_merges;
  parts.model = std::make_unique<BpeModel>(parts.vocabulary, std::move(merges), options);
  parts.decoder =
      TokenDecoder({{TokenDecoder::Step::Kind::kByteLevel, {}, {}, 0, 0, false, nullptr}});
  return finish(std::move(parts));
}

// Tokens of several spaces are found in the text as SentencePiece sees it, where spaces are written
// its way, and where its characters stand in the text already.
void add_space_runs(const Vocabulary& vocabulary, std::vector<AddedToken>& added) {
  const size_t count = added.size();
  for (size_t i = 0; i < count; ++i) {
    if (added[i].special || added[i].text.find(' ') == std::string::npos) continue;
    AddedToken written = added[i];
    written.text = vocabulary.bytes(written.token);
    added[i].normalized = true;
    added.push_back(std::move(written));
  }
}

// SentencePiece's BPE over characters: with merges (Gemma 4) or with scores in their place.
Result<std::unique_ptr<Tokenizer>> load_characters(const TokenizerSpec& spec) {
  using Kind = TokenDecoder::Step::Kind;
  // The converter writes the white space of user-defined tokens as spaces.
  std::vector<std::string> rewritten;
  std::vector<std::string_view> texts(spec.tokens.begin(), spec.tokens.end());
  const bool has_kinds = spec.kinds.size() == spec.tokens.size();
  rewritten.reserve(texts.size());
  for (size_t i = 0; has_kinds && i < texts.size(); ++i) {
    const bool user = spec.kinds[i] == static_cast<int32_t>(TokenKind::kUserDefined);
    if (!user || texts[i].find(' ') == std::string_view::npos) continue;
    std::string& text = rewritten.emplace_back();
    for (const char c : texts[i]) text += c == ' ' ? std::string(kMetaspace) : std::string(1, c);
    texts[i] = text;
  }
  O3_ASSIGN(TokenizerParts parts, common_parts(spec, texts, TextForm::kPlain));
  std::vector<NormalizerPtr> steps;
  const std::string space(kMetaspace);
  if (spec.add_space_prefix) steps.push_back(prepend_normalizer(space));
  steps.push_back(replace_text_normalizer(" ", space));
  parts.normalizer = normalizer_sequence(std::move(steps));
  if (!spec.add_space_prefix) add_space_runs(*parts.vocabulary, parts.added);
  BpeOptions options;
  options.unknown = spec.unknown;
  options.fuse_unknown = true;
  options.byte_fallback = true;
  MergeTable merges;
  if (spec.model == "gemma4") {
    O3_ASSIGN(const auto pairs, split_merges(spec.merges));
    O3_ASSIGN(merges, MergeTable::build(pairs, *parts.vocabulary));
  } else {
    O3_TRY(check_scores(spec));
    O3_ASSIGN(merges, MergeTable::from_scores(spec.scores, *parts.vocabulary));
  }
  parts.model = std::make_unique<BpeModel>(parts.vocabulary, std::move(merges), options);
  std::vector<TokenDecoder::Step> decoders = {{Kind::kReplace, space, " ", 0, 0, false, nullptr},
                                              {Kind::kByteFallback, {}, {}, 0, 0, false, nullptr},
                                              {Kind::kFuse, {}, {}, 0, 0, false, nullptr}};
  if (spec.add_space_prefix) decoders.push_back({Kind::kStrip, " ", {}, 1, 0, false, nullptr});
  parts.decoder = TokenDecoder(std::move(decoders));
  return finish(std::move(parts));
}

// BERT's WordPiece. The file writes "word" as U+2581 "word" and "##piece" as "piece".
Result<std::unique_ptr<Tokenizer>> load_word_piece(const TokenizerSpec& spec) {
  O3_TRY(check_walked(spec));
  std::vector<std::string> written;
  written.reserve(spec.tokens.size());
  for (const std::string_view token : spec.tokens) {
    const bool bracketed = token.starts_with('[') && token.ends_with(']');
    if (token.starts_with(kMetaspace)) {
      written.emplace_back(token.substr(kMetaspace.size()));
    } else {
      written.push_back(bracketed ? std::string(token) : "##" + std::string(token));
    }
  }
  const std::vector<std::string_view> texts(written.begin(), written.end());
  O3_ASSIGN(TokenizerParts parts, common_parts(spec, texts, TextForm::kPlain));
  if (!spec.unknown) {
    return invalid("the tokenizer needs an unknown token", "tokenizer.ggml.unknown_token_id");
  }
  parts.normalizer = bert_normalizer({});
  O3_ASSIGN(const JsonTree json, JsonTree::parse(R"({"type":"BertPreTokenizer"})"));
  O3_ASSIGN(ParsedPreTokenizer parsed, parse_pre_tokenizer(json.root()));
  parts.pre_tokenizer = std::move(parsed.steps);
  WordPieceOptions options;
  options.unknown = *spec.unknown;
  parts.model = std::make_unique<WordPieceModel>(*parts.vocabulary, options);
  parts.decoder =
      TokenDecoder({{TokenDecoder::Step::Kind::kWordPiece, "##", {}, 0, 0, true, nullptr}});
  return finish(std::move(parts));
}

struct ModelRow {
  std::string_view name;
  Result<std::unique_ptr<Tokenizer>> (*load)(const TokenizerSpec& spec);
};
constexpr std::array kModels{
    ModelRow{"gpt2", &load_byte_level}, ModelRow{"llama", &load_characters},
    ModelRow{"gemma4", &load_characters}, ModelRow{"bert", &load_word_piece}};

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
