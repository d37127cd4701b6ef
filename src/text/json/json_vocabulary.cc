// SPDX-License-Identifier: Apache-2.0
#include "text/json/json_vocabulary.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"

namespace o3::text {
namespace {

using Entries = std::vector<std::pair<std::string_view, Token>>;

// Longer tokens are rare, never needed, and would make every walk's scratch space larger.
constexpr size_t kMaxTokenBytes = 128;

void set_bit(std::span<uint32_t> bits, Token token) {
  bits[static_cast<size_t>(token) / 32] |= 1u << (static_cast<uint32_t>(token) % 32);
}

Entries entries_of(const std::vector<std::string>& texts, bool (*wanted)(std::string_view)) {
  Entries entries;
  for (size_t id = 0; id < texts.size(); ++id) {
    if (!texts[id].empty() && wanted(texts[id])) {
      entries.emplace_back(texts[id], static_cast<Token>(id));
    }
  }
  return entries;
}

bool any(std::string_view /*text*/) {
  return true;
}

bool leaves_plain_text(std::string_view text) {
  return text.find_first_of("\"\\") != std::string_view::npos;
}

// Whether the token keeps a string inside plain characters, whatever surrounds the string.
bool stays_in_text(const JsonMachine& machine, std::string_view text) {
  if (leaves_plain_text(text)) return false;
  JsonState state{.mode = JsonState::Mode::kText, .depth = 1, .objects = 1};
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return machine.advance(state, static_cast<uint8_t>(c)); });
}

// The text ends inside a UTF-8 sequence.
bool ends_inside_code_point(const std::string& text) {
  size_t pos = text.size();
  while (pos > 0 && text.size() - pos < 4) {
    const auto byte = static_cast<uint8_t>(text[--pos]);
    if (byte < 0x80) return false;
    if (byte < 0xC0) continue;
    const size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return text.size() - pos < length;
  }
  return false;
}

}  // namespace

TokenTrie::TokenTrie(Entries tokens) {
  std::sort(tokens.begin(), tokens.end());
  std::vector<uint32_t> path;  // nodes of the previous text, by depth
  std::string_view before;
  for (const auto& [text, token] : tokens) {
    const auto common = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), text.begin(), text.end()).first -
        before.begin());
    while (path.size() > common) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
    }
    for (size_t depth = common; depth < text.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.end = 0,
                        .first_token = static_cast<uint32_t>(tokens_.size()),
                        .byte = static_cast<uint8_t>(text[depth]),
                        .depth = static_cast<uint8_t>(depth)});
    }
    tokens_.push_back(token);
    before = text;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(
      {.end = 0, .first_token = static_cast<uint32_t>(tokens_.size()), .byte = 0, .depth = 0});
}

void TokenTrie::mark(const JsonMachine& machine, const JsonState& state,
                     std::span<uint32_t> bits) const {
  std::array<JsonState, kMaxTokenBytes + 1> states;  // by depth
  states[0] = state;
  const auto count = static_cast<uint32_t>(nodes_.size() - 1);
  for (uint32_t at = 0; at < count;) {
    const Node& node = nodes_[at];
    JsonState next = states[node.depth];
    if (!machine.advance(next, node.byte)) {
      at = node.end;
      continue;
    }
    states[node.depth + 1u] = next;
    for (uint32_t i = node.first_token; i < nodes_[at + 1].first_token; ++i) {
      set_bit(bits, tokens_[i]);
    }
    ++at;
  }
}

JsonVocabulary::JsonVocabulary(std::vector<std::string> texts, Token end)
    : texts_(std::move(texts)),
      end_(end),
      in_text_((texts_.size() + 31) / 32),
      all_(entries_of(texts_, &any)),
      special_in_text_(entries_of(texts_, &leaves_plain_text)) {
  const Result<JsonMachine> machine = JsonMachine::create({});
  O3_CHECK(machine.ok(), "the default limits are valid");
  for (size_t id = 0; id < texts_.size(); ++id) {
    if (!texts_[id].empty() && stays_in_text(*machine, texts_[id])) {
      set_bit(in_text_, static_cast<Token>(id));
    }
  }
}

// With a token for each single printable byte, every state can go on: the machine has no dead ends.
Result<void> JsonVocabulary::check_coverage(const std::vector<std::string>& texts) {
  std::array<bool, 256> present{};
  for (const std::string& text : texts) {
    if (text.size() == 1) present[static_cast<uint8_t>(text[0])] = true;
  }
  for (int byte = 0x20; byte < 0x7F; ++byte) {
    if (!present[static_cast<size_t>(byte)]) {
      return unsupported(std::string("this model cannot be held to JSON: it has no token for '") +
                         static_cast<char>(byte) + "'");
    }
  }
  return {};
}

Result<std::shared_ptr<const JsonVocabulary>> JsonVocabulary::create(const Tokenizer& tokenizer) {
  const std::optional<Token> end = tokenizer.eos();
  if (!end) return unsupported("this model cannot be held to JSON: it has no end token");
  const auto size = static_cast<size_t>(tokenizer.vocabulary_size());
  std::vector<std::string> texts(size);
  std::array<bool, 256> single{};
  for (size_t id = 0; id < size; ++id) {
    const auto token = static_cast<Token>(id);
    if (token == *end || tokenizer.is_control(token)) continue;
    const std::string_view bytes = tokenizer.bytes(token, false);
    if (bytes.size() > kMaxTokenBytes) continue;
    texts[id] = bytes;
    if (bytes.size() == 1) single[static_cast<uint8_t>(bytes[0])] = true;
  }
  O3_TRY(check_coverage(texts));
  // Half a code point is only allowed where the vocabulary surely can complete it.
  if (!std::all_of(single.begin() + 0x80, single.begin() + 0xC0, [](bool has) { return has; })) {
    for (std::string& text : texts) {
      if (ends_inside_code_point(text)) text.clear();
    }
  }
  return std::shared_ptr<const JsonVocabulary>(new JsonVocabulary(std::move(texts), *end));
}

std::string_view JsonVocabulary::bytes(Token token) const noexcept {
  const auto id = static_cast<size_t>(token);
  return token >= 0 && id < texts_.size() ? std::string_view(texts_[id]) : std::string_view();
}

void JsonVocabulary::fill(const JsonMachine& machine, const JsonState& state,
                          std::span<uint32_t> bits) const {
  O3_CHECK(bits.size() >= words(), "the mask covers the vocabulary");
  if (state.mode == JsonState::Mode::kText) {
    const auto rest = std::copy(in_text_.begin(), in_text_.end(), bits.begin());
    std::fill(rest, bits.end(), 0u);
    special_in_text_.mark(machine, state, bits);
    return;
  }
  std::fill(bits.begin(), bits.end(), 0u);
  all_.mark(machine, state, bits);
}

}  // namespace o3::text
