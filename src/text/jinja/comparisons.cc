// SPDX-License-Identifier: Apache-2.0
// Python's ==, <, in and sorted().
#include <algorithm>
#include <compare>
#include <numeric>
#include <string>

#include "text/jinja/operators.h"
#include "text/jinja/wide_int.h"

namespace o3::text::jinja {
namespace {

Result<bool> equal_items(RenderState& state, const std::vector<Value>& a,
                         const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    O3_ASSIGN(const bool same, equal(state, a[i], b[i]));
    if (!same) return false;
  }
  return true;
}

Result<bool> equal_dicts(RenderState& state, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    bool found = false;
    for (const auto& [other_key, other] : b.items) {
      O3_ASSIGN(const bool same_key, equal(state, key, other_key));
      if (!same_key) continue;
      O3_ASSIGN(found, equal(state, value, other));
      break;
    }
    if (!found) return false;
  }
  return true;
}

Result<std::partial_ordering> order_items(RenderState& state, const std::vector<Value>& a,
                                          const std::vector<Value>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    O3_ASSIGN(const bool same, equal(state, a[i], b[i]));
    if (!same) return order(state, a[i], b[i]);
  }
  return std::partial_ordering(a.size() <=> b.size());
}

// 64 bits of mantissa hold every int64, so that mixed comparisons are exact as Python's are.
long double exact(const Value& value) {
  return value.is_integral() ? static_cast<long double>(value.as_int())
                             : static_cast<long double>(value.as_number());
}

}  // namespace

bool is_hashable(const Value& value) {
  if (value.is_dict()) return false;
  if (!value.is_sequence()) return true;
  const Sequence& sequence = value.as_sequence();
  if (sequence.flavour != Sequence::Flavour::kTuple) {
    return sequence.flavour == Sequence::Flavour::kRange || !sequence.sized();
  }
  return std::all_of(sequence.items.begin(), sequence.items.end(), is_hashable);
}

Result<bool> equal(RenderState& state, const Value& a, const Value& b) {
  O3_TRY(state.charge(1));
  if (a.is_number() && b.is_number()) return exact(a) == exact(b);
  if (is_any_number(a) && is_any_number(b)) return std::is_eq(wide_order(a, b));
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNone:
      return true;
    case Value::Kind::kString: {
      const TaintedString& left = a.as_string();
      const TaintedString& right = b.as_string();
      if (left.size() != right.size()) return false;
      O3_TRY(state.charge(left.size() / 16));
      return left.text() == right.text();
    }
    case Value::Kind::kSequence: {
      const Sequence& left = a.as_sequence();
      const Sequence& right = b.as_sequence();
      if (left.flavour != right.flavour) return false;
      if (!left.sized()) return &left == &right;
      return equal_items(state, left.items, right.items);
    }
    case Value::Kind::kDict:
      return equal_dicts(state, a.as_dict(), b.as_dict());
    case Value::Kind::kFunction:
      return a.as_function() == b.as_function();
    case Value::Kind::kMethod:
      return &a.as_method() == &b.as_method();
    case Value::Kind::kObject:
      return a.as_object() == b.as_object();
    default:
      return false;
  }
}

Result<std::partial_ordering> order(RenderState& state, const Value& a, const Value& b) {
  O3_TRY(state.charge(1));
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  if (a.is_number() && b.is_number()) return exact(a) <=> exact(b);
  if (is_any_number(a) && is_any_number(b)) return wide_order(a, b);
  if (a.is_string() && b.is_string()) {
    O3_TRY(state.charge(std::min(a.as_string().size(), b.as_string().size()) / 16));
    // UTF-8 sorts as its code points do.
    return std::partial_ordering(a.as_string().view() <=> b.as_string().view());
  }
  if (is_list_or_tuple(a) && is_list_or_tuple(b) &&
      a.as_sequence().flavour == b.as_sequence().flavour) {
    return order_items(state, a.as_sequence().items, b.as_sequence().items);
  }
  return no_operator("comparison", a, b);
}

Result<bool> contains(RenderState& state, const Value& container, const Value& item) {
  if (container.is_string()) {
    if (!item.is_string()) {
      return invalid("'in <string>' requires string as left operand, not " +
                     std::string(item.type_name()));
    }
    O3_TRY(state.charge(1 + container.as_string().size() / 16));
    return find_text(container.as_string().view(), item.as_string().view(), 0) !=
           std::string_view::npos;
  }
  if (container.is_dict()) {
    O3_TRY(state.charge(1 + container.as_dict().items.size() / 8));
    if (item.is_string()) return container.as_dict().find(item.as_string().view()) != nullptr;
    if (!is_hashable(item)) {
      return invalid("unhashable type: '" + std::string(item.type_name()) + "'");
    }
  }
  O3_ASSIGN(const SequencePtr items, iterate(state, container));
  for (const Value& candidate : items->items) {
    O3_ASSIGN(const bool same, equal(state, candidate, item));
    if (same) return true;
  }
  return false;
}

Result<std::vector<size_t>> sorted_order(RenderState& state, const std::vector<Value>& keys,
                                         bool reverse) {
  std::vector<size_t> indexes(keys.size());
  std::iota(indexes.begin(), indexes.end(), size_t{0});
  // Merge sort by hand: a comparison may fail, which std::stable_sort cannot express.
  std::vector<size_t> merged(keys.size());
  for (size_t width = 1; width < indexes.size(); width *= 2) {
    for (size_t begin = 0; begin < indexes.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, indexes.size());
      const size_t end = std::min(begin + 2 * width, indexes.size());
      size_t left = begin;
      size_t right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          const Value& a = keys[indexes[right]];
          const Value& b = keys[indexes[left]];
          O3_ASSIGN(const std::partial_ordering ordering,
                    reverse ? order(state, b, a) : order(state, a, b));
          take_right = ordering == std::partial_ordering::less;
        }
        merged[out] = indexes[take_right ? right++ : left++];
      }
    }
    indexes.swap(merged);
  }
  return indexes;
}

}  // namespace o3::text::jinja
