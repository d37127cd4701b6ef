// SPDX-License-Identifier: Apache-2.0
#include "text/regex/program.h"

#include <algorithm>
#include <span>
#include <utility>

#include "text/regex/syntax.h"

namespace o3::text {
namespace {

constexpr size_t kMaxOps = 20'000;
constexpr size_t kMaxSets = 200;
constexpr size_t kMaxEmitted = 200'000;  // nodes, repetitions included: some become no op

// Emits each node with the address where the text after it goes on, so the program is written from
// its end to its beginning.
class Compiler {
 public:
  explicit Compiler(const RegexTree& tree) : tree_(tree) {}

  Result<RegexProgram> compile() {
    program_.ops.push_back({});  // kMatch
    const Following end;
    O3_ASSIGN(program_.start, emit(tree_.root, 0, end));
    return std::move(program_);
  }

 private:
  using Kind = RegexNode::Kind;

  // What may follow a node, for possessive quantifiers: the rest of its own concatenation, then
  // what follows that one.
  struct Following {
    std::span<const uint32_t> rest;
    const Following* outer = nullptr;  // null: the pattern's end
    bool unknown = false;              // anything
  };

  uint32_t add_set(const CharSet& set) {
    const auto found = std::find(program_.sets.begin(), program_.sets.end(), set);
    if (found != program_.sets.end()) return static_cast<uint32_t>(found - program_.sets.begin());
    program_.sets.push_back(set);
    return static_cast<uint32_t>(program_.sets.size() - 1);
  }
  Result<uint32_t> add(RegexOp op) {
    if (program_.ops.size() >= kMaxOps || program_.sets.size() > kMaxSets)
      return unsupported("regular expression: too large");
    program_.ops.push_back(op);
    return static_cast<uint32_t>(program_.ops.size() - 1);
  }

  Result<uint32_t> emit(uint32_t index, uint32_t next, const Following& after) {
    const RegexNode& node = tree_.nodes[index];
    if (++emitted_ > kMaxEmitted) return unsupported("regular expression: too large");
    switch (node.kind) {
      case Kind::kEmpty:
        return next;
      case Kind::kSet:
        return add({RegexOp::Kind::kSet, false, add_set(node.set), next, 0});
      case Kind::kLook:
        return add({RegexOp::Kind::kLook, node.at_end, add_set(node.set), next, 0});
      case Kind::kConcat:
        for (size_t i = node.children.size(); i > 0; --i) {
          const Following rest{std::span(node.children).subspan(i), &after, false};
          O3_ASSIGN(next, emit(node.children[i - 1], next, rest));
        }
        return next;
      case Kind::kAlternate: {
        O3_ASSIGN(uint32_t entry, emit(node.children.back(), next, after));
        for (size_t i = node.children.size() - 1; i > 0; --i) {
          O3_ASSIGN(const uint32_t first, emit(node.children[i - 1], next, after));
          O3_ASSIGN(entry, add({RegexOp::Kind::kSplit, false, 0, first, entry}));
        }
        return entry;
      }
      case Kind::kRepeat:
        return repeat(node, next, after);
    }
    return next;
  }

  Result<uint32_t> split(bool greedy, uint32_t inside, uint32_t outside) {
    return greedy ? add({RegexOp::Kind::kSplit, false, 0, inside, outside})
                  : add({RegexOp::Kind::kSplit, false, 0, outside, inside});
  }

  Result<uint32_t> repeat(const RegexNode& node, uint32_t next, const Following& after) {
    const uint32_t inside = node.children[0];
    if (node.possessive) O3_TRY(check_possessive(inside, after));
    // Inside a repetition its own beginning may follow; only plain sets may be possessive there.
    if (node.max == kUnbounded) {
      O3_ASSIGN(const uint32_t loop, add({RegexOp::Kind::kSplit, false, 0, 0, 0}));
      O3_ASSIGN(const uint32_t body, emit(inside, loop, unknown()));
      program_.ops[loop].next = node.greedy ? body : next;
      program_.ops[loop].other = node.greedy ? next : body;
      next = loop;
    } else {
      uint32_t chain = next;
      for (uint32_t i = node.min; i < node.max; ++i) {
        O3_ASSIGN(const uint32_t body, emit(inside, chain, unknown()));
        O3_ASSIGN(chain, split(node.greedy, body, next));
      }
      next = chain;
    }
    for (uint32_t i = 0; i < node.min; ++i) {
      O3_ASSIGN(next, emit(inside, next, unknown()));
    }
    return next;
  }

  static Following unknown() { return {{}, nullptr, true}; }

  // A possessive run of a set is a greedy one where nothing of the set can follow.
  Result<void> check_possessive(uint32_t inside, const Following& after) const {
    const RegexNode& node = tree_.nodes[inside];
    bool fine = node.kind == Kind::kSet;
    bool more = true;  // all so far may match nothing
    for (const Following* list = &after; fine && more && list != nullptr; list = list->outer) {
      fine = !list->unknown;
      for (size_t i = 0; fine && more && i < list->rest.size(); ++i) {
        fine = differs(list->rest[i], node.set, more);
      }
    }
    if (fine) return {};
    return unsupported(
        "regular expression: a possessive quantifier that is more than a greedy one");
  }

  // Nothing that `index` begins with is in `set`; `empty`: it may match nothing.
  bool differs(uint32_t index, const CharSet& set, bool& empty) const {
    const RegexNode& node = tree_.nodes[index];
    if (node.kind == Kind::kRepeat) {
      const bool fine = differs(node.children[0], set, empty);
      empty = empty || node.min == 0;
      return fine;
    }
    empty = node.kind == Kind::kLook;
    return (node.kind == Kind::kSet || node.kind == Kind::kLook) && !set.overlaps(node.set);
  }

  const RegexTree& tree_;
  RegexProgram program_;
  size_t emitted_ = 0;
};

}  // namespace

Result<RegexProgram> parse_regex(std::string_view pattern) {
  O3_ASSIGN(const RegexTree tree, parse_regex_tree(pattern));
  return Compiler(tree).compile();
}

}  // namespace o3::text
