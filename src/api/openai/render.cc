// SPDX-License-Identifier: Apache-2.0
#include "api/openai/render.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "api/json_text.h"

namespace o3::api::openai {
namespace {

// The shortest digits that give the same float. What cannot come has no finite logarithm; JSON has
// no infinity, and OpenAI's answers have this number for it.
void append_number(std::string& out, float value) {
  if (!std::isfinite(value)) {
    out += "-9999.0";
    return;
  }
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end.ptr);
}

size_t code_points(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

// The lists of a completion's logprobs object.
struct Columns {
  std::string tokens = "{\"tokens\":[";
  std::string logprobs = "],\"token_logprobs\":[";
  std::string top = "],\"top_logprobs\":[";
  std::string offsets = "],\"text_offset\":[";
  bool first = true;

  void next() {
    if (std::exchange(first, false)) return;
    for (std::string* column : {&tokens, &logprobs, &top, &offsets}) *column += ',';
  }
};

}  // namespace

std::string render_heading(const AnswerHeading& heading, std::string_view object) {
  std::string out = "{\"id\":";
  append_json_string(out, heading.id);
  out += ",\"object\":";
  append_json_string(out, object);
  out += ",\"created\":" + std::to_string(heading.created) + ",\"model\":";
  append_json_string(out, heading.model);
  if (!heading.fingerprint.empty()) {
    out += ",\"system_fingerprint\":";
    append_json_string(out, heading.fingerprint);
  }
  return out;
}

std::string render_usage(const Usage& usage) {
  const int64_t total = int64_t{usage.prompt_tokens} + usage.completion_tokens;
  return "{\"prompt_tokens\":" + std::to_string(usage.prompt_tokens) +
         ",\"completion_tokens\":" + std::to_string(usage.completion_tokens) +
         ",\"total_tokens\":" + std::to_string(total) +
         ",\"prompt_tokens_details\":{\"cached_tokens\":" + std::to_string(usage.cached_tokens) +
         "}}";
}

std::string_view reason_name(FinishReason reason) noexcept {
  return reason == FinishReason::kLength ? "length" : "stop";
}

std::string render_end(const ChoiceEnd* end) {
  if (end == nullptr) return ",\"finish_reason\":null";
  std::string out = ",\"finish_reason\":\"";
  out.append(reason_name(end->reason)).append("\",\"stop_reason\":");
  if (const auto* text = std::get_if<std::string>(&end->stop)) {
    append_json_string(out, *text);
  } else if (const auto* token = std::get_if<Token>(&end->stop)) {
    out += std::to_string(*token);
  } else {
    out += "null";
  }
  return out;
}

std::string LogprobsRenderer::bytes_of(Token token) const {
  return std::string(tokenizer_->bytes(token, true));
}

void LogprobsRenderer::append_text(std::string& out, Token token) const {
  append_json_string(out, bytes_of(token));
}

// {"token", "logprob", "bytes" without its closing brace.
void LogprobsRenderer::append_entry(std::string& out, Token token, float logprob) const {
  out += "{\"token\":";
  append_text(out, token);
  out += ",\"logprob\":";
  append_number(out, logprob);
  out += ",\"bytes\":[";
  bool first = true;
  for (const char byte : bytes_of(token)) {
    if (!std::exchange(first, false)) out += ',';
    out += std::to_string(static_cast<unsigned char>(byte));
  }
  out += ']';
}

std::string LogprobsRenderer::chat(std::span<const ScoredToken> tokens) const {
  std::string out = "{\"content\":[";
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    append_entry(out, tokens[i].token, tokens[i].scores.logprob);
    out += ",\"top_logprobs\":[";
    bool first = true;
    for (const engine::RankedToken& top : tokens[i].scores.top) {
      if (!std::exchange(first, false)) out += ',';
      append_entry(out, top.token, top.logprob);
      out += '}';
    }
    out += "]}";
  }
  return out + "],\"refusal\":null}";
}

std::string LogprobsRenderer::render(std::span<const ScoredToken> tokens,
                                     const ScoredPrompt* echoed, size_t& offset) const {
  if (dialect_ == Dialect::kChat) return chat(tokens);
  Columns columns;
  const auto add = [&](Token token, const engine::TokenLogprobs* scores) {
    columns.next();
    append_text(columns.tokens, token);
    columns.offsets += std::to_string(offset);
    offset += code_points(bytes_of(token));
    if (scores == nullptr) {
      columns.logprobs += "null";
      columns.top += "null";
      return;
    }
    append_number(columns.logprobs, scores->logprob);
    // Two tokens may have one text (bytes of no character); the likelier one keeps it.
    columns.top += '{';
    std::vector<std::string> seen;
    for (const engine::RankedToken& top : scores->top) {
      std::string name;
      append_text(name, top.token);
      if (std::ranges::find(seen, name) != seen.end()) continue;
      columns.top += (seen.empty() ? "" : ",") + name + ':';
      append_number(columns.top, top.logprob);
      seen.push_back(std::move(name));
    }
    columns.top += '}';
  };
  if (echoed != nullptr) {
    for (size_t i = 0; i < echoed->tokens.size(); ++i) {
      add(echoed->tokens[i],
          i == 0 || i > echoed->scores.size() ? nullptr : &echoed->scores[i - 1]);
    }
  }
  for (const ScoredToken& one : tokens) add(one.token, &one.scores);
  return columns.tokens + columns.logprobs + columns.top + columns.offsets + "]}";
}

std::string LogprobsRenderer::render_prompt(const ScoredPrompt& prompt) const {
  std::string out = "[null";
  for (size_t i = 0; i < prompt.scores.size(); ++i) {
    const engine::TokenLogprobs& scores = prompt.scores[i];
    out += ",{";
    const auto add = [&](Token token, float logprob, size_t rank) {
      out += '"' + std::to_string(token) + "\":{\"logprob\":";
      append_number(out, logprob);
      out += ",\"rank\":" + std::to_string(rank) + ",\"decoded_token\":";
      append_text(out, token);
      out += '}';
    };
    const Token own = prompt.tokens[i + 1];
    add(own, scores.logprob, static_cast<size_t>(scores.rank));
    for (size_t rank = 0; rank < scores.top.size(); ++rank) {
      if (scores.top[rank].token == own) continue;
      out += ',';
      add(scores.top[rank].token, scores.top[rank].logprob, rank + 1);
    }
    out += '}';
  }
  return out + "]";
}

}  // namespace o3::api::openai
