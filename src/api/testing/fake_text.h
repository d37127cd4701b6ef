// SPDX-License-Identifier: Apache-2.0
// For tests only: a tokenizer with one token per byte, so that tests can cut text anywhere.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/served_model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace o3::api::testing {

inline constexpr Token kBos = 256;
inline constexpr Token kEos = 257;
inline constexpr Token kLong = 258;  // 16 KiB of text in one token, to fill buffers cheaply

class ByteTokenizer : public text::Tokenizer {
 public:
  explicit ByteTokenizer(bool adds_bos = false) : adds_bos_(adds_bos) {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(i);
  }
  int32_t vocabulary_size() const noexcept override { return 259; }
  std::optional<Token> bos() const noexcept override { return kBos; }
  std::optional<Token> eos() const noexcept override { return kEos; }
  bool adds_bos() const noexcept override { return adds_bos_; }
  bool is_control(Token token) const noexcept override { return token == kBos || token == kEos; }
  std::optional<Token> find(std::string_view /*piece*/) const override { return std::nullopt; }
  Result<std::vector<Token>> encode(std::string_view text,
                                    text::SpecialTokens /*s*/) const override {
    std::vector<Token> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  Result<std::vector<Token>> encode(std::span<const text::Segment> segments) const override {
    std::string whole;
    for (const auto& segment : segments) whole += segment.text;
    return encode(whole, text::SpecialTokens::kPlain);
  }
  std::string_view bytes(Token token, bool /*control*/) const noexcept override {
    if (token == kLong) return long_;
    if (token < 0 || token > 255) return {};
    return {&bytes_[static_cast<size_t>(token)], 1};
  }

 private:
  bool adds_bos_;
  std::array<char, 256> bytes_{};
  const std::string long_ = std::string(16 << 10, 'x');
};

inline std::vector<Token> tokens_of(std::string_view text) {
  return *ByteTokenizer().encode(text, text::SpecialTokens::kPlain);
}

// The argument `title`, "role:content\n" per message, then "assistant:".
inline Result<std::vector<text::Segment>> render_plain(const Conversation& conversation) {
  std::vector<text::Segment> segments;
  if (conversation.arguments.contains("title")) {
    segments.push_back({conversation.arguments["title"].get<std::string>(), false});
  }
  for (const auto& message : conversation.messages) {
    segments.push_back({message.role + ":", true});
    segments.push_back({message.content, false});
    segments.push_back({"\n", true});
  }
  if (conversation.add_generation_prompt) segments.push_back({"assistant:", true});
  return segments;
}

}  // namespace o3::api::testing
