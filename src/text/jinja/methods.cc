// SPDX-License-Identifier: Apache-2.0
// Methods of mappings, sequences and numbers; those of strings are in string_methods.cc.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "text/jinja/access.h"
#include "text/jinja/call.h"
#include "text/jinja/format.h"
#include "text/jinja/format_spec.h"
#include "text/jinja/markup.h"
#include "text/jinja/operators.h"
#include "text/jinja/string_methods.h"
#include "text/jinja/unicode.h"

namespace o3::text::jinja {
namespace {

using Flavour = Sequence::Flavour;

Result<Value> float_is_integer(Call& call) {
  const double value = call.self.as_number();
  return Value(std::isfinite(value) && std::floor(value) == value);
}

Result<Value> int_bit_length(Call& call) {
  int64_t value = call.self.as_int();
  uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  int64_t bits = 0;
  for (; size != 0; size >>= 1) ++bits;
  return Value(bits);
}

Result<Value> dict_get(Call& call) {
  const Value& key = *call.arg(0);
  if (!is_hashable(key)) return invalid("unhashable type: '" + std::string(key.type_name()) + "'");
  O3_ASSIGN(const bool present, contains(*call.state, call.self, key));
  if (present) return get_item(*call.state, call.self, key);
  return call.arg(1) != nullptr ? *call.arg(1) : Value();
}

template <Flavour flavour>
Result<Value> dict_view(Call& call) {
  const Dict& dict = call.self.as_dict();
  O3_TRY(call.charge(1 + 4 * dict.items.size()));
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    if (flavour == Flavour::kDictKeys) {
      items.push_back(key);
    } else if (flavour == Flavour::kDictValues) {
      items.push_back(value);
    } else {
      O3_ASSIGN(Value pair, make_sequence(Flavour::kTuple, {key, value}));
      items.push_back(std::move(pair));
    }
  }
  return make_sequence(flavour, std::move(items));
}

Result<Value> same_value(Call& call) {
  return call.self;
}  // copies of immutable values

Result<Value> list_count(Call& call) {
  int64_t count = 0;
  for (const Value& item : call.self.as_sequence().items) {
    O3_ASSIGN(const bool same, equal(*call.state, item, *call.arg(0)));
    count += same ? 1 : 0;
  }
  return Value(count);
}

Result<Value> list_index(Call& call) {
  const std::vector<Value>& items = call.self.as_sequence().items;
  const auto size = static_cast<int64_t>(items.size());
  O3_ASSIGN(int64_t begin, int_argument(call, 1, 0));
  O3_ASSIGN(int64_t end, int_argument(call, 2, size));
  if (begin < 0) begin = std::max<int64_t>(begin + size, 0);
  end = end < 0 ? end + size : std::min(end, size);
  for (int64_t i = begin; i < end; ++i) {
    O3_ASSIGN(const bool same, equal(*call.state, items[static_cast<size_t>(i)], *call.arg(0)));
    if (same) return Value(i);
  }
  return invalid("the value is not in the list");
}

constexpr auto kDictMethods = std::to_array<Builtin>({
    {"copy", "", 0, &same_value},
    {"fromkeys", "*", 0, nullptr},
    {"get", ".key .default", 1, &dict_get},
    {"items", "", 0, &dict_view<Flavour::kDictItems>},
    {"keys", "", 0, &dict_view<Flavour::kDictKeys>},
    {"values", "", 0, &dict_view<Flavour::kDictValues>},
});

constexpr auto kListMethods = std::to_array<Builtin>({
    {"count", ".value", 1, &list_count},
    {"index", ".value .start .stop", 1, &list_index},
    {"copy", "", 0, &same_value},
});

constexpr auto kIntMethods = std::to_array<Builtin>({
    {"bit_length", "", 0, &int_bit_length},
});
constexpr auto kFloatMethods = std::to_array<Builtin>({
    {"is_integer", "", 0, &float_is_integer},
});

constexpr std::array<std::string_view, 5> kDictMutators = {"clear", "pop", "popitem", "setdefault",
                                                           "update"};
constexpr std::array<std::string_view, 8> kListMutators = {"append", "clear",  "extend",  "insert",
                                                           "pop",    "remove", "reverse", "sort"};

}  // namespace

const Builtin* find_method(const Value& self, std::string_view name) noexcept {
  if (self.is_string()) return find_string_method(name);
  if (self.is_dict()) return find_in(kDictMethods, name);
  if (self.is_integral()) return find_in(kIntMethods, name);
  if (self.is_number()) return find_in(kFloatMethods, name);
  if (!self.is_sequence() || !self.as_sequence().indexable()) return nullptr;
  if (self.as_sequence().flavour != Flavour::kList && name == "copy") return nullptr;
  return find_in(kListMethods, name);
}

bool is_mutating_method(const Value& self, std::string_view name) noexcept {
  const auto lists = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (self.is_dict()) return lists(kDictMutators);
  return self.is_sequence() && self.as_sequence().flavour == Flavour::kList && lists(kListMutators);
}

}  // namespace o3::text::jinja
