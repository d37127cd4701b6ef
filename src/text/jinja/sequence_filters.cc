// SPDX-License-Identifier: Apache-2.0
// Filters that walk sequences and mappings.
#include <array>
#include <functional>
#include <optional>
#include <string>

#include "text/jinja/access.h"
#include "text/jinja/attribute_path.h"
#include "text/jinja/call.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/print.h"
#include "text/jinja/string_ops.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

using Flavour = Sequence::Flavour;

Result<int64_t> length_of(RenderState& state, const Value& value) {
  if (value.is_undefined()) return int64_t{0};
  if (value.is_string()) {
    O3_TRY(state.charge(1 + value.as_string().size() / 16));
    return static_cast<int64_t>(count_code_points(value.as_string().view()));
  }
  if (value.is_dict()) return static_cast<int64_t>(value.as_dict().items.size());
  if (value.is_sequence() && value.as_sequence().sized()) {
    return static_cast<int64_t>(value.as_sequence().items.size());
  }
  return invalid("object of type '" + std::string(value.type_name()) + "' has no len()");
}

Result<Value> filter_length(Call& call) {
  O3_ASSIGN(const int64_t length, length_of(*call.state, call.self));
  return Value(length);
}

Result<Value> filter_list(Call& call) {
  O3_ASSIGN(const SequencePtr items, iterate(*call.state, call.self));
  O3_TRY(call.charge(items->items.size()));
  return make_sequence(Flavour::kList, items->items);
}

Result<Value> filter_first(Call& call) {
  O3_ASSIGN(const SequencePtr items, iterate(*call.state, call.self));
  if (items->items.empty()) return Value::undefined("No first item, sequence was empty.");
  return items->items.front();
}

Result<Value> filter_last(Call& call) {
  if (call.self.is_sequence() && !call.self.as_sequence().sized()) {
    return invalid("'generator' object is not reversible");
  }
  O3_ASSIGN(const SequencePtr items, iterate(*call.state, call.self));
  if (items->items.empty()) return Value::undefined("No last item, sequence was empty.");
  return items->items.back();
}

Result<Value> filter_reverse(Call& call) {
  if (call.self.is_string()) {
    return get_slice(*call.state, call.self,
                     {.begin = std::nullopt, .end = std::nullopt, .step = -1});
  }
  O3_ASSIGN(const SequencePtr items, iterate(*call.state, call.self));
  O3_TRY(call.charge(items->items.size()));
  return make_sequence(Flavour::kIterator, {items->items.rbegin(), items->items.rend()});
}

Result<Value> filter_join(Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  std::vector<Value> items = source->items;
  O3_TRY(call.charge(items.size()));
  if (call.arg(1) != nullptr && !call.arg(1)->is_none()) {
    O3_ASSIGN(const AttributePath path, AttributePath::parse(*call.arg(1)));
    for (Value& item : items) {
      O3_ASSIGN(item, path.of(*call.state, item));
    }
  }
  StringPtr separator = std::make_shared<const TaintedString>();
  if (call.arg(0) != nullptr) {
    O3_ASSIGN(separator, to_string(*call.state, *call.arg(0)));
  }
  O3_ASSIGN(TaintedString text, join(*call.state, items, *separator));
  return Value(std::move(text));
}

Result<std::vector<Value>> item_pairs(const Call& call) {
  std::vector<Value> pairs;
  if (call.self.is_undefined()) return pairs;
  if (!call.self.is_dict()) return invalid("Can only get item pairs from a mapping.");
  for (const auto& [key, value] : call.self.as_dict().items) {
    O3_TRY(call.charge(4));
    O3_ASSIGN(Value pair, make_sequence(Flavour::kTuple, {key, value}));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Result<Value> filter_items(Call& call) {
  return make_iterator(item_pairs(call));
}

// The rest of a map/select call as a call of its own.
Call nested_call(const Call& call, size_t used, Value self) {
  Call inner{.state = call.state,
             .self = std::move(self),
             .positional = {},
             .named = call.named,
             .splatted = call.splatted};
  inner.positional.assign(call.positional.begin() + static_cast<std::ptrdiff_t>(used),
                          call.positional.end());
  return inner;
}

Result<const Builtin*> named_builtin(const Value& name, const Builtin* (*find)(std::string_view)) {
  if (!name.is_string()) return invalid("a filter or test is named by a string");
  const Builtin* found = find(name.as_string().view());
  if (found == nullptr) {
    return unsupported("'" + name.as_string().text() + "' is no filter or test that is supported");
  }
  return found;
}

Result<std::vector<Value>> map_attribute(const Call& call, const std::vector<Value>& items) {
  const Value* otherwise = nullptr;
  const Value* attribute = nullptr;
  for (const auto& [name, value] : call.named) {
    if (name == "attribute") {
      attribute = &value;
    } else if (name == "default") {
      otherwise = &value;
    } else {
      return invalid("filter 'map': no argument is named '" + std::string(name) + "'");
    }
  }
  if (attribute == nullptr) return invalid("filter 'map' needs the name of a filter");
  O3_ASSIGN(const AttributePath path, AttributePath::parse(*attribute));
  std::vector<Value> out;
  for (const Value& item : items) {
    O3_TRY(call.charge(1));
    O3_ASSIGN(Value value, path.of(*call.state, item, otherwise));
    out.push_back(std::move(value));
  }
  return out;
}

Result<std::vector<Value>> mapped(const Call& call) {
  if (!call.self.truth()) return std::vector<Value>();
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  if (call.positional.empty()) return map_attribute(call, source->items);
  O3_ASSIGN(const Builtin* filter, named_builtin(call.positional[0], &find_filter));
  std::vector<Value> out;
  for (const Value& item : source->items) {
    Call inner = nested_call(call, 1, item);
    O3_ASSIGN(Value value, invoke(*filter, inner, "filter"));
    out.push_back(std::move(value));
  }
  return out;
}

Result<Value> filter_map(Call& call) {
  return make_iterator(mapped(call));
}

Result<std::vector<Value>> selected(const Call& call, bool want, bool by_attribute) {
  if (!call.self.truth()) return std::vector<Value>();
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  size_t used = 0;
  AttributePath path;
  if (by_attribute) {
    if (call.positional.empty()) return invalid("Missing parameter for attribute name");
    O3_ASSIGN(path, AttributePath::parse(call.positional[used++]));
  }
  const Builtin* test = nullptr;
  if (call.positional.size() > used) {
    O3_ASSIGN(test, named_builtin(call.positional[used++], &find_test));
  }
  std::vector<Value> out;
  for (const Value& item : source->items) {
    O3_TRY(call.charge(1));
    O3_ASSIGN(Value subject, path.of(*call.state, item));
    if (test != nullptr) {
      Call inner = nested_call(call, used, std::move(subject));
      O3_ASSIGN(subject, invoke(*test, inner, "test"));
    }
    if (subject.truth() == want) out.push_back(item);
  }
  return out;
}

template <bool want, bool by_attribute>
Result<Value> filter_select(Call& call) {
  return make_iterator(selected(call, want, by_attribute));
}

// Sort keys of `items`: by attribute (several at commas), letters' case folded unless asked.
Result<std::vector<Value>> sort_keys(Call& call, const std::vector<Value>& items,
                                     const Value* attribute, bool case_sensitive) {
  std::vector<AttributePath> paths;
  if (attribute != nullptr && attribute->is_string()) {
    const TaintedString comma(",", Origin::kTemplate);
    O3_ASSIGN(const std::vector<Value> names,
              split(*call.state, attribute->as_string(), &comma, -1));
    for (const Value& name : names) {
      O3_ASSIGN(AttributePath path, AttributePath::parse(name));
      paths.push_back(std::move(path));
    }
  } else {
    O3_ASSIGN(AttributePath path,
              AttributePath::parse(attribute == nullptr ? Value() : *attribute));
    paths.push_back(std::move(path));
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      O3_TRY(call.charge(1));
      O3_ASSIGN(const Value part, path.of(*call.state, item));
      O3_ASSIGN(Value same_case, folded(*call.state, part, case_sensitive));
      key.push_back(std::move(same_case));
    }
    O3_ASSIGN(Value whole, make_sequence(Flavour::kList, std::move(key)));
    keys.push_back(std::move(whole));
  }
  return keys;
}

Result<Value> filter_sort(Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  const bool reverse = flag_argument(call, 0, false);
  O3_ASSIGN(const std::vector<Value> keys,
            sort_keys(call, source->items, call.arg(2), flag_argument(call, 1, false)));
  O3_ASSIGN(const std::vector<size_t> order, sorted_order(*call.state, keys, reverse));
  std::vector<Value> out;
  out.reserve(order.size());
  for (const size_t i : order) out.push_back(source->items[i]);
  return make_sequence(Flavour::kList, std::move(out));
}

Result<Value> filter_dictsort(Call& call) {
  if (call.self.is_undefined()) return undefined_error(call.self);
  if (!call.self.is_dict()) return invalid("filter 'dictsort' needs a mapping");
  O3_ASSIGN(const StringPtr by, string_argument(call, 1));
  const bool by_value = by != nullptr && by->view() == "value";
  if (by != nullptr && !by_value && by->view() != "key") {
    return invalid("You can only sort by either \"key\" or \"value\"");
  }
  const auto& pairs = call.self.as_dict().items;
  std::vector<Value> keys;
  for (const auto& [key, value] : pairs) {
    O3_ASSIGN(Value same_case,
              folded(*call.state, by_value ? value : key, flag_argument(call, 0, false)));
    keys.push_back(std::move(same_case));
  }
  O3_ASSIGN(const std::vector<size_t> order,
            sorted_order(*call.state, keys, flag_argument(call, 2, false)));
  std::vector<Value> out;
  for (const size_t i : order) {
    O3_ASSIGN(Value pair, make_sequence(Flavour::kTuple, {pairs[i].first, pairs[i].second}));
    out.push_back(std::move(pair));
  }
  return make_sequence(Flavour::kList, std::move(out));
}

// min and max; of equals the first.
template <bool largest>
Result<Value> filter_extreme(Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  if (source->items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  const Value none;
  const Value& attribute = call.arg(1) != nullptr ? *call.arg(1) : none;
  O3_ASSIGN(const AttributePath path, AttributePath::parse(attribute));
  std::optional<Value> best_key;
  size_t best = 0;
  for (size_t i = 0; i < source->items.size(); ++i) {
    O3_ASSIGN(const Value part, path.of(*call.state, source->items[i]));
    O3_ASSIGN(const Value key, folded(*call.state, part, flag_argument(call, 0, false)));
    if (best_key) {
      O3_ASSIGN(const std::partial_ordering ordering, order(*call.state, key, *best_key));
      if (ordering != (largest ? std::partial_ordering::greater : std::partial_ordering::less)) {
        continue;
      }
    }
    best = i;
    best_key = key;
  }
  return source->items[best];
}

Result<Value> filter_sum(Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  const Value none;
  O3_ASSIGN(const AttributePath path,
            AttributePath::parse(call.arg(0) != nullptr ? *call.arg(0) : none));
  Value total = call.arg(1) != nullptr ? *call.arg(1) : Value(int64_t{0});
  if (total.is_string()) return invalid("sum() can't sum strings");
  for (const Value& item : source->items) {
    O3_ASSIGN(const Value part, path.of(*call.state, item));
    O3_ASSIGN(total, binary(*call.state, BinaryOp::kAdd, total, part));
  }
  return total;
}

Result<std::vector<Value>> unique_items(const Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  const Value none;
  O3_ASSIGN(const AttributePath path,
            AttributePath::parse(call.arg(1) != nullptr ? *call.arg(1) : none));
  std::vector<Value> seen;
  std::vector<Value> out;
  for (const Value& item : source->items) {
    O3_ASSIGN(const Value part, path.of(*call.state, item));
    O3_ASSIGN(Value key, folded(*call.state, part, flag_argument(call, 0, false)));
    if (!is_hashable(key)) return invalid("filter 'unique' needs hashable items");
    bool known = false;
    for (size_t i = 0; !known && i < seen.size(); ++i) {
      O3_ASSIGN(known, equal(*call.state, seen[i], key));
    }
    if (known) continue;
    seen.push_back(std::move(key));
    out.push_back(item);
  }
  return out;
}

Result<Value> filter_unique(Call& call) {
  return make_iterator(unique_items(call));
}

constexpr auto kSequenceFilters = std::to_array<Builtin>({
    {"count", "", 0, &filter_length},
    {"dictsort", "case_sensitive by reverse", 0, &filter_dictsort},
    {"first", "", 0, &filter_first},
    {"items", "", 0, &filter_items},
    {"join", "d attribute", 0, &filter_join},
    {"last", "", 0, &filter_last},
    {"length", "", 0, &filter_length},
    {"list", "", 0, &filter_list},
    {"map", "*", 0, &filter_map},
    {"max", "case_sensitive attribute", 0, &filter_extreme<true>},
    {"min", "case_sensitive attribute", 0, &filter_extreme<false>},
    {"reject", "*", 0, &filter_select<false, false>},
    {"rejectattr", "*", 0, &filter_select<false, true>},
    {"reverse", "", 0, &filter_reverse},
    {"select", "*", 0, &filter_select<true, false>},
    {"selectattr", "*", 0, &filter_select<true, true>},
    {"sort", "reverse case_sensitive attribute", 0, &filter_sort},
    {"sum", "attribute start", 0, &filter_sum},
    {"unique", "case_sensitive attribute", 0, &filter_unique},
});

}  // namespace

const Builtin* find_sequence_filter(std::string_view name) noexcept {
  return find_in(kSequenceFilters, name);
}

}  // namespace o3::text::jinja
