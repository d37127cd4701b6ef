// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/value.h"

#include <algorithm>
#include <cstdlib>

#include "text/jinja/budget.h"

namespace o3::text::jinja {
namespace {

Error too_deep() {
  return Error{Code::kTooLong,
               "lists and mappings are nested deeper than " + std::to_string(kMaxValueDepth),
               {}};
}

std::string_view sequence_type(Sequence::Flavour flavour) {
  switch (flavour) {
    case Sequence::Flavour::kList:
      return "list";
    case Sequence::Flavour::kTuple:
      return "tuple";
    case Sequence::Flavour::kRange:
      return "range";
    case Sequence::Flavour::kIterator:
      return "generator";
    case Sequence::Flavour::kDictKeys:
      return "dict_keys";
    case Sequence::Flavour::kDictValues:
      return "dict_values";
    case Sequence::Flavour::kDictItems:
      return "dict_items";
  }
  return "sequence";
}

}  // namespace

Value Value::undefined(std::string why) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(why))};
  return value;
}

Value Value::big_int(std::string digits) {
  Value value;
  value.data_ = std::make_shared<const std::string>(std::move(digits));
  return value;
}

Value::Value(TaintedString text) : data_(std::make_shared<const TaintedString>(std::move(text))) {}

Value Value::trusted(std::string_view text) {
  return Value(TaintedString(std::string(text), Origin::kTemplate));
}

int64_t Value::as_int() const {
  return kind() == Kind::kBool ? static_cast<int64_t>(std::get<bool>(data_))
                               : std::get<int64_t>(data_);
}

double Value::as_number() const {
  if (kind() == Kind::kBigInt) return std::strtod(big_digits().c_str(), nullptr);
  return kind() == Kind::kFloat ? std::get<double>(data_) : static_cast<double>(as_int());
}

bool Value::truth() const noexcept {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kFloat:
      return as_number() != 0;
    case Kind::kString:
      return !as_string().empty();
    case Kind::kSequence:
      return !as_sequence().sized() || !as_sequence().items.empty();
    case Kind::kDict:
      return !as_dict().items.empty();
    case Kind::kFunction:
    case Kind::kMethod:
    case Kind::kObject:
    case Kind::kBigInt:
      return true;
  }
  return false;
}

int Value::depth() const noexcept {
  switch (kind()) {
    case Kind::kSequence:
      return as_sequence().depth;
    case Kind::kDict:
      return as_dict().depth;
    case Kind::kMethod:
      return as_method().self.depth() + 1;
    default:
      return 0;
  }
}

std::string_view Value::type_name() const {
  switch (kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kSequence:
      return sequence_type(as_sequence().flavour);
    case Kind::kDict:
      return "dict";
    case Kind::kFunction:
    case Kind::kMethod:
      return "function";
    case Kind::kObject:
      return as_object()->type_name();
  }
  return "object";
}

const Value* Dict::find(std::string_view key) const noexcept {
  for (const auto& [name, value] : items) {
    if (name.is_string() && name.as_string().view() == key) return &value;
  }
  return nullptr;
}

Result<Value> make_sequence(Sequence::Flavour flavour, std::vector<Value> items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  if (depth >= kMaxValueDepth) return too_deep();
  auto sequence = std::make_shared<Sequence>();
  sequence->flavour = flavour;
  sequence->items = std::move(items);
  sequence->depth = depth + 1;
  return Value(SequencePtr(std::move(sequence)));
}

Result<Value> make_iterator(Result<std::vector<Value>> items) {
  if (items.ok()) return make_sequence(Sequence::Flavour::kIterator, *std::move(items));
  if (items.error().code == Code::kTooLong) return std::move(items).error();
  auto sequence = std::make_shared<Sequence>();
  sequence->flavour = Sequence::Flavour::kIterator;
  sequence->failure = std::move(items).error();
  return Value(SequencePtr(std::move(sequence)));
}

Result<Value> make_dict(std::vector<std::pair<Value, Value>> items) {
  int depth = 0;
  for (const auto& [key, value] : items) depth = std::max({depth, key.depth(), value.depth()});
  if (depth >= kMaxValueDepth) return too_deep();
  auto dict = std::make_shared<Dict>();
  dict->items = std::move(items);
  dict->depth = depth + 1;
  return Value(DictPtr(std::move(dict)));
}

}  // namespace o3::text::jinja
