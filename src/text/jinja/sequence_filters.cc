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

// Rows of `count` items.
Result<std::vector<Value>> batches(const Call& call) {
  O3_ASSIGN(const SequencePtr items, iterate(*call.state, call.self));
  O3_ASSIGN(const int64_t count, int_argument(call, 0, 1));
  std::vector<Value> out;
  std::vector<Value> row;
  const auto finish = [&]() -> Result<void> {
    O3_ASSIGN(Value list, make_sequence(Flavour::kList, std::exchange(row, {})));
    out.push_back(std::move(list));
    return {};
  };
  for (const Value& item : items->items) {
    O3_TRY(call.charge(2));
    if (static_cast<int64_t>(row.size()) == count) O3_TRY(finish());
    row.push_back(item);
  }
  if (row.empty()) return out;
  if (call.arg(1) != nullptr && !call.arg(1)->is_none()) {
    const auto filled = static_cast<int64_t>(row.size());
    const int64_t missing = count > filled ? count - filled : 0;
    O3_TRY(call.charge(static_cast<uint64_t>(missing)));
    for (int64_t i = 0; i < missing; ++i) row.push_back(*call.arg(1));
  }
  O3_TRY(finish());
  return out;
}

Result<Value> filter_batch(Call& call) {
  return make_iterator(batches(call));
}

// `count` columns of nearly the same length.
Result<std::vector<Value>> columns(const Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  O3_ASSIGN(const int64_t count, int_argument(call, 0, 1));
  if (count == 0) return invalid("integer division or modulo by zero");
  std::vector<Value> out;
  const auto size = static_cast<int64_t>(source->items.size());
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const bool longer = i < size % count;
    const int64_t end = begin + size / count + (longer ? 1 : 0);
    O3_TRY(call.charge(4 + static_cast<uint64_t>(end - begin)));
    std::vector<Value> column(source->items.begin() + begin, source->items.begin() + end);
    if (call.arg(1) != nullptr && !call.arg(1)->is_none() && !longer) {
      column.push_back(*call.arg(1));
    }
    O3_ASSIGN(Value list, make_sequence(Flavour::kList, std::move(column)));
    out.push_back(std::move(list));
    begin = end;
  }
  return out;
}

Result<Value> filter_slice(Call& call) {
  return make_iterator(columns(call));
}

constexpr auto kSequenceFilters = std::to_array<Builtin>({
    {"batch", "linecount fill_with", 1, &filter_batch},
    {"count", "", 0, &filter_length},
    {"first", "", 0, &filter_first},
    {"items", "", 0, &filter_items},
    {"join", "d attribute", 0, &filter_join},
    {"last", "", 0, &filter_last},
    {"length", "", 0, &filter_length},
    {"list", "", 0, &filter_list},
    {"map", "*", 0, &filter_map},
    {"reject", "*", 0, &filter_select<false, false>},
    {"rejectattr", "*", 0, &filter_select<false, true>},
    {"reverse", "", 0, &filter_reverse},
    {"select", "*", 0, &filter_select<true, false>},
    {"selectattr", "*", 0, &filter_select<true, true>},
    {"slice", "slices fill_with", 1, &filter_slice},
    {"sum", "attribute start", 0, &filter_sum},
});

}  // namespace

const Builtin* find_sequence_filter(std::string_view name) noexcept {
  return find_in(kSequenceFilters, name);
}

}  // namespace o3::text::jinja
