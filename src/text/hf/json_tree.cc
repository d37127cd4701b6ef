// SPDX-License-Identifier: Apache-2.0
#include "text/hf/json_tree.h"

#include <charconv>
#include <utility>

#include "base/hex.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr size_t kMaxBytes = 1u << 30;
constexpr size_t kMaxNodes = 1u << 25;
constexpr size_t kMaxDepth = 64;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

}  // namespace

class JsonTreeParser {
 public:
  explicit JsonTreeParser(std::string_view text) { tree_.text_ = text; }

  // Containers that are open are a list, not a recursion.
  Result<JsonTree> parse() {
    if (tree_.text_.size() > kMaxBytes) return invalid("the JSON text is larger than 1 GiB");
    if (!is_utf8(tree_.text_)) return invalid("the JSON text is not UTF-8");
    tree_.nodes_.reserve(tree_.text_.size() / 24);
    for (bool more = true; more;) {
      if (!value()) return fail();
      if (!close_and_continue(more)) return fail();
    }
    space();
    if (at_ != tree_.text_.size()) return fail();
    return std::move(tree_);
  }

 private:
  using Kind = JsonValue::Kind;
  using Node = JsonTree::Node;
  using Text = JsonTree::Text;

  Error fail() const {
    return invalid("not valid JSON, or nested too deep, at byte " + std::to_string(at_));
  }
  char peek() const noexcept { return at_ < tree_.text_.size() ? tree_.text_[at_] : '\0'; }
  void space() noexcept {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }
  bool take(char c) noexcept {
    space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view text, Kind kind, Node& node) noexcept {
    if (!tree_.text_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    node.kind = kind;
    return true;
  }

  // One value, or the opening of a container.
  bool value() {
    if (tree_.nodes_.size() >= kMaxNodes) return false;
    Node node;
    node.key = std::exchange(key_, {});
    space();
    const char c = peek();
    bool fine = false;
    if (c == '"') {
      node.kind = Kind::kString;
      fine = string(node.text);
    } else if (c == '{' || c == '[') {
      ++at_;
      node.kind = c == '{' ? Kind::kObject : Kind::kArray;
      fine = open_.size() < kMaxDepth;
      open_.push_back(static_cast<uint32_t>(tree_.nodes_.size()));
    } else if (c == 't') {
      fine = word("true", Kind::kTrue, node);
    } else if (c == 'f') {
      fine = word("false", Kind::kFalse, node);
    } else if (c == 'n') {
      fine = word("null", Kind::kNull, node);
    } else {
      node.kind = Kind::kNumber;
      fine = number(node.text);
    }
    tree_.nodes_.push_back(node);
    tree_.nodes_.back().after = static_cast<uint32_t>(tree_.nodes_.size());
    opened_ = fine && (c == '{' || c == '[');
    return fine;
  }

  // What may stand behind a value: ends of containers, then a comma or the end of the text.
  bool close_and_continue(bool& more) {
    while (!open_.empty()) {
      Node& parent = tree_.nodes_[open_.back()];
      const bool object = parent.kind == Kind::kObject;
      const bool first = std::exchange(opened_, false);
      if (take(object ? '}' : ']')) {
        parent.after = static_cast<uint32_t>(tree_.nodes_.size());
        open_.pop_back();
        continue;
      }
      if (!first && !take(',')) return false;
      ++parent.text.bytes;
      if (!object) return true;
      space();
      return peek() == '"' && string(key_) && take(':');
    }
    more = false;
    return true;
  }

  bool number(Text& out) {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    if (!is_digit(peek())) return false;
    const bool zero = peek() == '0';
    digits();
    if (zero && at_ - begin > (tree_.text_[begin] == '-' ? 2u : 1u)) return false;
    if (peek() == '.') {
      ++at_;
      if (!is_digit(peek())) return false;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!is_digit(peek())) return false;
      digits();
    }
    out = {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)};
    return true;
  }
  void digits() noexcept {
    while (is_digit(peek())) ++at_;
  }

  // At a quotation mark. A string without escapes is a view of the text.
  bool string(Text& out) {
    const size_t begin = ++at_;
    while (plain()) ++at_;
    if (peek() == '"') {
      out = {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)};
      ++at_;
      return true;
    }
    const size_t start = tree_.unescaped_.size();
    tree_.unescaped_ += tree_.text_.substr(begin, at_ - begin);
    while (peek() == '\\') {
      ++at_;
      if (!escape()) return false;
      const size_t from = at_;
      while (plain()) ++at_;
      tree_.unescaped_ += tree_.text_.substr(from, at_ - from);
    }
    if (peek() != '"') return false;
    ++at_;
    out = {static_cast<uint32_t>(start) | JsonTree::kUnescaped,
           static_cast<uint32_t>(tree_.unescaped_.size() - start)};
    return true;
  }
  bool plain() const noexcept {
    if (at_ >= tree_.text_.size()) return false;
    const char c = tree_.text_[at_];
    return c != '"' && c != '\\' && static_cast<uint8_t>(c) >= 0x20;
  }

  // Behind a backslash.
  bool escape() {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const char c = peek();
    ++at_;
    if (c == 'u') return unicode_escape();
    const size_t index = c == '\0' ? std::string_view::npos : kFrom.find(c);
    if (index == std::string_view::npos) return false;
    tree_.unescaped_ += kTo[index];
    return true;
  }
  bool unicode_escape() {
    char32_t code = 0;
    if (!four_digits(code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      char32_t low = 0;
      if (!tree_.text_.substr(at_).starts_with("\\u")) return false;
      at_ += 2;
      if (!four_digits(low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
      return false;
    }
    append_utf8(code, tree_.unescaped_);
    return true;
  }
  bool four_digits(char32_t& code) noexcept {
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_digit(peek());
      if (digit < 0) return false;
      code = code << 4 | static_cast<char32_t>(digit);
      ++at_;
    }
    return true;
  }

  JsonTree tree_;
  size_t at_ = 0;
  Text key_;                    // of the next value
  std::vector<uint32_t> open_;  // containers, outermost first
  bool opened_ = false;         // the last value is the opening of a container
};

Result<JsonTree> JsonTree::parse(std::string_view text) {
  return JsonTreeParser(text).parse();
}

JsonValue::Kind JsonValue::kind() const noexcept {
  return tree_->nodes_[node_].kind;
}

std::optional<bool> JsonValue::boolean() const noexcept {
  if (kind() == Kind::kTrue) return true;
  if (kind() == Kind::kFalse) return false;
  return std::nullopt;
}

std::optional<double> JsonValue::number() const noexcept {
  if (kind() != Kind::kNumber) return std::nullopt;
  const std::string_view text = tree_->view(tree_->nodes_[node_].text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> JsonValue::integer() const noexcept {
  if (kind() != Kind::kNumber) return std::nullopt;
  const std::string_view text = tree_->view(tree_->nodes_[node_].text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string_view> JsonValue::string() const noexcept {
  if (kind() != Kind::kString) return std::nullopt;
  return tree_->view(tree_->nodes_[node_].text);
}

size_t JsonValue::size() const noexcept {
  return is_array() || is_object() ? tree_->nodes_[node_].text.bytes : 0;
}

std::string_view JsonValue::key() const noexcept {
  return tree_->view(tree_->nodes_[node_].key);
}

std::optional<JsonValue> JsonValue::find(std::string_view wanted) const noexcept {
  if (!is_object()) return std::nullopt;
  for (const JsonValue member : *this) {
    if (member.key() == wanted) return member;
  }
  return std::nullopt;
}

JsonValue::Iterator& JsonValue::Iterator::operator++() {
  node_ = tree_->nodes_[node_].after;
  return *this;
}

JsonValue::Iterator JsonValue::begin() const noexcept {
  return size() > 0 ? Iterator(*tree_, node_ + 1) : end();
}

JsonValue::Iterator JsonValue::end() const noexcept {
  return {*tree_, tree_->nodes_[node_].after};
}

}  // namespace o3::text
