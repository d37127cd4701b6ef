// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers: a tokenizer of each kind, with control tokens that its normalizer or its
// own tokens could put together.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/hf/tokenizer_json.h"
#include "text/testing/synthetic_vocabulary.h"

namespace o3::text {

struct SmallTokenizers {
  SmallTokenizers()
      : byte_level(make_byte_level()),
        sentence_piece(make_sentence_piece()),
        unigram(from_json(kUnigram)),
        normalized(from_json(kNormalized)),
        word_piece(from_json(kWordPiece)) {}

  std::unique_ptr<Tokenizer> byte_level;
  std::unique_ptr<Tokenizer> sentence_piece;  // a GGUF's, with scores and bytes
  std::unique_ptr<Tokenizer> unigram;
  std::unique_ptr<Tokenizer> normalized;  // added tokens are matched behind the normalizer
  std::unique_ptr<Tokenizer> word_piece;

  std::array<const Tokenizer*, 5> all() const {
    return {byte_level.get(), sentence_piece.get(), unigram.get(), normalized.get(),
            word_piece.get()};
  }

 private:
  static std::unique_ptr<Tokenizer> make_byte_level() {
    SyntheticVocabulary source({{"<|e|>", TokenKind::kControl},
                                {"<|e|>>", TokenKind::kControl},
                                {"<e>", TokenKind::kUserDefined}});
    source.merge("e", "e");
    source.merge("<", "|");
    source.merge(" ", "ee");
    source.merge("|", ">");
    source.merge("\xC3", "\xA9");
    return *load_tokenizer(source.spec());
  }

  static std::unique_ptr<Tokenizer> make_sentence_piece() {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::vector<std::string> texts = {"<unk>", "<s>", "</s>", "<|e|>", "\xE2\x96\x81"};
    TokenizerSpec spec;
    spec.kinds = {2, 3, 1, 3, 1};  // </s> as an ordinary token: its id makes it one of the ends
    for (size_t byte = 0; byte < 256; ++byte) {
      texts.push_back({'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'});
      spec.kinds.push_back(6);
    }
    for (const char* piece : {"<", "/", "s", ">", "|", "e", "a", "\xC3\xA9", "</", "s>", "</s",
                              "<s", "|e", "|e|", "<|", "|>", "ee", "\u2581e"}) {
      texts.emplace_back(piece);
      spec.kinds.push_back(1);
    }
    spec.model = "llama";
    spec.tokens.assign(texts.begin(), texts.end());
    for (size_t i = 0; i < texts.size(); ++i) spec.scores.push_back(-static_cast<float>(i));
    spec.unknown = 0;
    spec.bos = 1;
    spec.eos = 2;
    return *load_tokenizer(spec);
  }

  static std::unique_ptr<Tokenizer> from_json(std::string_view json) {
    return *load_tokenizer_json(json);
  }

  static constexpr std::string_view kUnigram = R"~({
    "added_tokens": [
      {"id": 1, "content": "</s>", "special": true},
      {"id": 2, "content": "<|e|>", "special": false, "normalized": false}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Replace", "pattern": {"String": "[end]"}, "content": "</s>"}, {"type": "NFKC"},
      {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "<|e|>"}]},
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [
      ["<unk>", 0], ["</s>", -1], ["<|e|>", -1], ["▁", -2], ["<", -3], ["/", -3], ["s", -3],
      [">", -3], ["|", -3], ["e", -3], ["</", -2], ["s>", -2], ["▁</s", -1], ["é", -4]]}})~";

  static constexpr std::string_view kNormalized = R"~({
    "added_tokens": [
      {"id": 1, "content": "</S>", "special": true, "normalized": true},
      {"id": 2, "content": "<|É|>", "special": false, "normalized": true, "lstrip": true},
      {"id": 3, "content": "go", "special": true, "normalized": true, "single_word": true},
      {"id": 4, "content": "<raw>", "special": true, "normalized": false, "rstrip": true}],
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Strip", "strip_left": true, "strip_right": false}, {"type": "NFD"},
      {"type": "StripAccents"}, {"type": "Lowercase"},
      {"type": "Replace", "pattern": {"Regex": "\\(s\\)"}, "content": "</s>"},
      {"type": "Prepend", "prepend": "<"}]},
    "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": false,
      "vocab": {"<unk>": 0, "</S>": 1, "<|É|>": 2, "go": 3, "<raw>": 4, "<": 5, "/": 6, "s": 7,
                ">": 8, "|": 9, "e": 10, "g": 11, "o": 12, "</": 13, "s>": 14, "</s>": 15},
      "merges": [["<", "/"], ["s", ">"], ["</", "s>"], ["g", "o"]]}})~";

  static constexpr std::string_view kWordPiece = R"~({
    "added_tokens": [
      {"id": 1, "content": "[CLS]", "special": true}, {"id": 2, "content": "[SEP]", "special": true,
       "normalized": true}],
    "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                   "strip_accents": null, "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
    "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 20, "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[": 3,
      "]": 4, "sep": 5, "cls": 6, "s": 7, "##e": 8, "##p": 9, "c": 10, "##l": 11, "##s": 12}}})~";
};

}  // namespace o3::text
