// SPDX-License-Identifier: Apache-2.0
#include "text/regex/syntax.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/printable.h"
#include "text/regex/set_parser.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr size_t kMaxPatternBytes = 1u << 16;
constexpr int kMaxDepth = 64;
constexpr uint32_t kMaxTreeDepth = 200;  // quantifiers count too; the compiler recurses
constexpr uint32_t kMaxCount = 1024;

class Parser {
 public:
  explicit Parser(std::string_view pattern) : cursor_{pattern, 0} {}

  Result<RegexTree> parse() {
    O3_ASSIGN(tree_.root, alternation(0));
    if (!cursor_.done()) return fail("a ) without its (");
    return std::move(tree_);
  }

 private:
  using Kind = RegexNode::Kind;

  Error fail(const std::string& what) const {
    return unsupported("regular expression: " + what + " at byte " + std::to_string(cursor_.at));
  }
  uint32_t add(RegexNode node) {
    uint32_t depth = 0;
    for (const uint32_t child : node.children) depth = std::max(depth, depths_[child] + 1);
    depths_.push_back(depth);
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
  }
  uint32_t add_list(Kind kind, std::vector<uint32_t> children) {
    if (children.size() == 1) return children[0];
    RegexNode node;
    node.kind = children.empty() ? Kind::kEmpty : kind;
    node.children = std::move(children);
    return add(std::move(node));
  }

  Result<uint32_t> alternation(int depth) {
    if (depth > kMaxDepth) return fail("groups are nested too deep");
    std::vector<uint32_t> ways;
    do {
      std::vector<uint32_t> items;
      while (!cursor_.done() && cursor_.peek() != '|' && cursor_.peek() != ')') {
        O3_ASSIGN(const uint32_t item, quantified(depth));
        items.push_back(item);
      }
      ways.push_back(add_list(Kind::kConcat, std::move(items)));
    } while (cursor_.take("|"));
    return add_list(Kind::kAlternate, std::move(ways));
  }

  Result<uint32_t> set_node(CharSet set) {
    if (fold_ && !set.fold_case()) return fail("ignoring the case of letters beyond ASCII");
    RegexNode node;
    node.kind = Kind::kSet;
    node.set = std::move(set);
    return add(std::move(node));
  }

  Result<uint32_t> atom(int depth) {
    if (cursor_.take("(")) return group(depth);
    if (cursor_.take("[")) {
      O3_ASSIGN(CharSet set, parse_bracket(cursor_));
      return set_node(std::move(set));
    }
    if (cursor_.take("\\")) {
      O3_ASSIGN(CharSet set, parse_escape(cursor_));
      return set_node(std::move(set));
    }
    if (cursor_.take("$")) {  // the end of a line
      RegexNode node;
      node.kind = Kind::kLook;
      node.set = CharSet({{'\n', '\n'}});
      node.at_end = true;
      return add(std::move(node));
    }
    if (cursor_.take(".")) {
      CharSet set({{'\n', '\n'}});
      set.complement();
      return set_node(std::move(set));
    }
    if (std::string_view("^*+?{}").find(cursor_.peek()) != std::string_view::npos) {
      return fail(std::string("'") + cursor_.peek() + "' is not supported here");
    }
    const char32_t code = cursor_.next_code();
    return set_node(CharSet({{code, code}}));
  }

  Result<uint32_t> close(uint32_t inside) {
    if (!cursor_.take(")")) return fail("a ( without its )");
    return inside;
  }

  // After '('.
  Result<uint32_t> group(int depth) {
    const bool before = fold_;
    if (cursor_.take("?i)")) {  // for the rest of the enclosing group
      fold_ = true;
      O3_ASSIGN(const uint32_t rest, alternation(depth + 1));
      fold_ = before;
      return rest;
    }
    if (cursor_.take("?=") || cursor_.take("?!")) {
      const bool negative = cursor_.pattern[cursor_.at - 1] == '!';
      return look_ahead(depth, negative);
    }
    if (cursor_.take("?i:")) {
      fold_ = true;
    } else if (!cursor_.take("?:") && cursor_.peek() == '?') {
      return fail("the group (" + printable(cursor_.pattern.substr(cursor_.at, 3)) +
                  " is not supported");
    }
    O3_ASSIGN(const uint32_t inside, alternation(depth + 1));
    fold_ = before;
    return close(inside);
  }

  Result<uint32_t> look_ahead(int depth, bool negative) {
    O3_ASSIGN(const uint32_t inside, alternation(depth + 1));
    O3_ASSIGN(const uint32_t closed, close(inside));
    if (tree_.nodes[closed].kind != Kind::kSet) {
      return fail("look-ahead of more than one character is not supported");
    }
    RegexNode node;
    node.kind = Kind::kLook;
    node.set = tree_.nodes[closed].set;
    if (negative) node.set.complement();
    node.at_end = negative;
    return add(std::move(node));
  }

  // {m}, {m,}, {,n}, {m,n}; anything else after '{' is a literal, which no pattern needs.
  Result<std::pair<uint32_t, uint32_t>> counts() {
    const auto number = [this](uint32_t missing) {
      uint32_t value = 0;
      bool any = false;
      while (cursor_.peek() >= '0' && cursor_.peek() <= '9' && value <= kMaxCount) {
        value = value * 10 + static_cast<uint32_t>(cursor_.peek() - '0');
        ++cursor_.at;
        any = true;
      }
      return any ? value : missing;
    };
    const uint32_t min = number(0);
    const uint32_t max = cursor_.take(",") ? number(kUnbounded) : min;
    const bool bounded = min <= kMaxCount && (max == kUnbounded || max <= kMaxCount);
    if (!cursor_.take("}") || !bounded || max < min || max == 0) {
      return fail("a malformed {m,n} or a count above " + std::to_string(kMaxCount));
    }
    return std::pair(min, max);
  }

  Result<uint32_t> quantified(int depth) {
    O3_ASSIGN(uint32_t inside, atom(depth));
    for (int i = 0; i < kMaxDepth; ++i) {
      RegexNode node;
      node.kind = Kind::kRepeat;
      node.max = kUnbounded;
      bool braces = false;
      if (cursor_.take("+")) {
        node.min = 1;
      } else if (cursor_.take("?")) {
        node.max = 1;
      } else if (cursor_.take("{")) {
        O3_ASSIGN(const auto range, counts());
        node.min = range.first;
        node.max = range.second;
        braces = true;
      } else if (!cursor_.take("*")) {
        return inside;
      }
      if (tree_.nodes[inside].kind == Kind::kLook) return fail("a repeated look-ahead");
      if (cursor_.take("?")) {
        node.greedy = false;
      } else if (!braces && cursor_.take("+")) {
        node.possessive = true;  // after braces a + repeats them
      }
      node.children = {inside};
      inside = add(std::move(node));
      if (depths_[inside] > kMaxTreeDepth) return fail("groups and quantifiers nested too deep");
    }
    return fail("too many quantifiers");
  }

  PatternCursor cursor_;
  RegexTree tree_;
  std::vector<uint32_t> depths_;  // of each node, above the leaves
  bool fold_ = false;             // inside (?i:...)
};

}  // namespace

Result<RegexTree> parse_regex_tree(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes || !is_utf8(pattern)) {
    return unsupported("regular expression: longer than 65536 bytes or not UTF-8");
  }
  return Parser(pattern).parse();
}

}  // namespace o3::text
