// SPDX-License-Identifier: Apache-2.0
#include "text/hf/tokenizer_json.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "text/hf/components.h"
#include "text/hf/fields.h"
#include "text/hf/models.h"
#include "text/pipeline_tokenizer.h"
#include "text/white_space.h"

namespace o3::text {
namespace {

constexpr size_t kMaxAddedBytes = 1024;  // bounds the work per character of matching their texts

Result<AddedToken> parse_added(const JsonValue& json) {
  AddedToken token;
  O3_ASSIGN(token.text, string_field(json, "content"));
  O3_ASSIGN(token.special, bool_field(json, "special", false));
  O3_ASSIGN(token.single_word, bool_field(json, "single_word", false));
  O3_ASSIGN(token.lstrip, bool_field(json, "lstrip", false));
  O3_ASSIGN(token.rstrip, bool_field(json, "rstrip", false));
  O3_ASSIGN(token.normalized, bool_field(json, "normalized", !token.special));
  const auto id = json.find("id");
  const auto number = id ? id->integer() : std::nullopt;
  if (token.text.size() > kMaxAddedBytes) {
    return invalid("tokenizer.json: an added token is longer than 1024 bytes");
  }
  if (!number || *number < 0 || *number >= kMaxModelTokens) {
    return invalid("tokenizer.json: an added token needs an id from 0 to 4194303");
  }
  token.token = static_cast<Token>(*number);
  token.free = !token.special && is_spacing(token.text);
  return token;
}

// Ids as the reference gives them: the model's for a text that it has, else the next free one.
class AddedIds {
 public:
  explicit AddedIds(ModelTokens& tokens) : tokens_(tokens) {}

  Result<void> add_all(std::vector<AddedToken> tokens, std::vector<AddedToken>& out) {
    std::vector<std::string_view> texts;
    texts.reserve(tokens.size());
    for (const AddedToken& token : tokens) texts.push_back(token.text);
    const std::vector<Token> known = tokens_.find(texts);
    for (size_t i = 0; i < tokens.size(); ++i) O3_TRY(add(tokens[i], known[i], out));
    return {};
  }

 private:
  Result<void> add(AddedToken& token, Token known, std::vector<AddedToken>& out) {
    if (token.text.empty()) return {};
    const auto [place, fresh] = places_.try_emplace(token.text, out.size());
    if (!fresh) {
      AddedToken& before = out[place->second];
      token.token = before.token;  // given twice: the later flags count
      before = std::move(token);
      set_kind(before);
      return {};
    }
    if (known >= 0) {
      token.token = known;
    } else {
      const auto model_size = static_cast<Token>(tokens_.count);
      token.token = out.empty() || most_ < model_size ? model_size : most_ + 1;
      if (token.token >= kMaxModelTokens) return invalid("tokenizer.json: too many tokens");
      if (tokens_.at(token.token)) {
        return invalid("tokenizer.json: the model has no token of the added text \"" +
                       printable(token.text) + "\", but one of its id");
      }
      owned_.push_back(std::make_unique<std::string>(token.text));
      tokens_.set(token.token, *owned_.back(), TokenKind::kAdded);
    }
    most_ = std::max(most_, token.token);
    out.push_back(std::move(token));
    set_kind(out.back());
    return {};
  }

  void set_kind(const AddedToken& token) {
    TokenKind& kind = tokens_.kinds[static_cast<size_t>(token.token)];
    if (token.special) {
      kind = TokenKind::kControl;
    } else if (kind != TokenKind::kAdded) {
      kind = TokenKind::kUserDefined;
    }
  }

  ModelTokens& tokens_;
  Token most_ = -1;  // of the added tokens
  std::vector<std::unique_ptr<std::string>> owned_;
  std::unordered_map<std::string, size_t> places_;  // of a text in the list of added tokens
};

Result<void> set_ends(const TokenizerNames& names, TokenizerParts& parts) {
  const auto by_text = [&](const std::optional<std::string>& text) -> std::optional<Token> {
    if (!text) return std::nullopt;
    for (const AddedToken& token : parts.added) {
      if (token.text == *text) return token.token;
    }
    return parts.vocabulary->find(*text);
  };
  parts.bos = by_text(names.bos);
  parts.eos = by_text(names.eos);
  const auto& before = parts.frame.before;
  const std::optional<Token> first = before.empty() ? std::nullopt : std::optional(before[0]);
  if (!parts.bos) parts.bos = first;
  parts.add_bos = names.add_bos.value_or(first.has_value() && first == parts.bos);
  if (parts.add_bos && !parts.bos) {
    return invalid("the tokenizer adds a bos token, but none is named", "bos_token");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> load_tokenizer_json(std::string_view json,
                                                       const TokenizerNames& names) {
  O3_ASSIGN(const JsonTree tree, JsonTree::parse(json));
  const JsonValue root = tree.root();
  const auto model = root.find("model");
  if (!model || !model->is_object()) return invalid("tokenizer.json: there is no model");
  TokenizerParts parts;
  O3_ASSIGN(parts.normalizer, parse_normalizer(root.find("normalizer")));
  O3_ASSIGN(ParsedPreTokenizer pre, parse_pre_tokenizer(root.find("pre_tokenizer")));
  parts.pre_tokenizer = std::move(pre.steps);
  O3_ASSIGN(parts.decoder, parse_decoder(root.find("decoder")));

  O3_ASSIGN(ModelTokens tokens, read_model_tokens(*model));
  AddedIds ids(tokens);
  if (const auto added = root.find("added_tokens"); added && added->is_array()) {
    std::vector<AddedToken> given;
    for (const JsonValue entry : *added) {
      O3_ASSIGN(AddedToken token, parse_added(entry));
      given.push_back(std::move(token));
    }
    O3_TRY(ids.add_all(std::move(given), parts.added));
  }
  O3_ASSIGN(Vocabulary vocabulary,
            Vocabulary::build(tokens.texts, tokens.kinds,
                              pre.byte_level ? TextForm::kByteAlphabet : TextForm::kPlain));
  parts.vocabulary = std::make_shared<const Vocabulary>(std::move(vocabulary));
  O3_ASSIGN(parts.model, build_model(*model, tokens, parts.vocabulary));
  O3_ASSIGN(parts.frame, parse_post_processor(root.find("post_processor"), *parts.vocabulary));
  O3_TRY(set_ends(names, parts));
  return PipelineTokenizer::build(std::move(parts));
}

}  // namespace o3::text
