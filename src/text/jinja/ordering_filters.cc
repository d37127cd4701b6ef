// SPDX-License-Identifier: Apache-2.0
// Filters that compare the items of sequences and mappings.
#include <array>
#include <optional>
#include <string>

#include "text/jinja/attribute_path.h"
#include "text/jinja/call.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/string_ops.h"

namespace o3::text::jinja {
namespace {

using Flavour = Sequence::Flavour;

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

// [(key, [items]), ...] in the order of the keys; a pair also has .grouper and .list.
Result<Value> filter_groupby(Call& call) {
  O3_ASSIGN(const SequencePtr source, iterate(*call.state, call.self));
  O3_ASSIGN(const AttributePath path, AttributePath::parse(*call.arg(0)));
  std::vector<Value> names;  // as they are
  std::vector<Value> keys;   // as they compare
  for (const Value& item : source->items) {
    O3_TRY(call.charge(2));
    O3_ASSIGN(Value name, path.of(*call.state, item, call.arg(1)));
    O3_ASSIGN(Value key, folded(*call.state, name, flag_argument(call, 2, false)));
    names.push_back(std::move(name));
    keys.push_back(std::move(key));
  }
  O3_ASSIGN(const std::vector<size_t> order, sorted_order(*call.state, keys, false));
  std::vector<Value> groups;
  for (size_t i = 0; i < order.size();) {
    const size_t first = order[i];
    std::vector<Value> members;
    for (; i < order.size(); ++i) {
      O3_ASSIGN(const bool same, equal(*call.state, keys[first], keys[order[i]]));
      if (!same) break;
      members.push_back(source->items[order[i]]);
    }
    O3_ASSIGN(Value list, make_sequence(Flavour::kList, std::move(members)));
    O3_ASSIGN(const Value pair, make_sequence(Flavour::kTuple, {names[first], std::move(list)}));
    auto group = std::make_shared<Sequence>(pair.as_sequence());
    group->label = kGroupLabel;
    groups.emplace_back(SequencePtr(std::move(group)));
  }
  return make_sequence(Flavour::kList, std::move(groups));
}

constexpr auto kOrderingFilters = std::to_array<Builtin>({
    {"dictsort", "case_sensitive by reverse", 0, &filter_dictsort},
    {"groupby", "attribute default case_sensitive", 1, &filter_groupby},
    {"max", "case_sensitive attribute", 0, &filter_extreme<true>},
    {"min", "case_sensitive attribute", 0, &filter_extreme<false>},
    {"sort", "reverse case_sensitive attribute", 0, &filter_sort},
    {"unique", "case_sensitive attribute", 0, &filter_unique},
});

}  // namespace

const Builtin* find_ordering_filter(std::string_view name) noexcept {
  return find_in(kOrderingFilters, name);
}

}  // namespace o3::text::jinja
