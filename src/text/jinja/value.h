// SPDX-License-Identifier: Apache-2.0
// Values of the template language. All are immutable but for Objects, so copies share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/jinja/tainted_string.h"

namespace o3::text::jinja {

class Value;
class Object;
struct Builtin;
struct Sequence;
struct Dict;
struct BoundMethod;
struct Call;
using StringPtr = std::shared_ptr<const TaintedString>;
using SequencePtr = std::shared_ptr<const Sequence>;
using DictPtr = std::shared_ptr<const Dict>;
using BigIntPtr = std::shared_ptr<const std::string>;

// jinja2's default Undefined: prints as nothing, is false and empty, and fails in operations with
// this text.
struct Undefined {
  std::shared_ptr<const std::string> why;
};
struct None {};

class Value {
 public:
  enum class Kind : uint8_t {  // order of the variant below
    kUndefined,
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kSequence,
    kDict,
    kFunction,
    kMethod,
    kObject,
    kBigInt,
  };

  Value() : data_(None{}) {}
  static Value undefined(std::string why);
  explicit Value(const char*) = delete;  // would be a bool
  explicit Value(bool value) : data_(value) {}
  explicit Value(int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(TaintedString text);
  explicit Value(StringPtr text) : data_(std::move(text)) {}
  explicit Value(SequencePtr sequence) : data_(std::move(sequence)) {}
  explicit Value(DictPtr dict) : data_(std::move(dict)) {}
  explicit Value(const Builtin* function) : data_(function) {}
  explicit Value(std::shared_ptr<const BoundMethod> method) : data_(std::move(method)) {}
  explicit Value(Object* object) : data_(object) {}
  static Value big_int(std::string digits);     // beyond int64_t; "-" and digits
  static Value trusted(std::string_view text);  // template-owned text

  Kind kind() const noexcept { return static_cast<Kind>(data_.index()); }
  bool is_undefined() const noexcept { return kind() == Kind::kUndefined; }
  bool is_none() const noexcept { return kind() == Kind::kNone; }
  bool is_string() const noexcept { return kind() == Kind::kString; }
  bool is_dict() const noexcept { return kind() == Kind::kDict; }
  bool is_sequence() const noexcept { return kind() == Kind::kSequence; }
  bool is_integral() const noexcept { return kind() == Kind::kBool || kind() == Kind::kInt; }
  bool is_any_int() const noexcept {  // but bool
    return kind() == Kind::kInt || kind() == Kind::kBigInt;
  }
  // What as_number() and arithmetic in 64 bits take; kBigInt goes its own way (wide_int.h).
  bool is_number() const noexcept { return is_integral() || kind() == Kind::kFloat; }

  // The caller has looked at kind().
  const std::string& undefined_why() const { return *std::get<Undefined>(data_).why; }
  bool as_bool() const { return std::get<bool>(data_); }
  int64_t as_int() const;    // kBool, kInt
  double as_number() const;  // kBool, kInt, kFloat; kBigInt rounded
  const std::string& big_digits() const { return *std::get<BigIntPtr>(data_); }
  const TaintedString& as_string() const { return *std::get<StringPtr>(data_); }
  const StringPtr& string_ptr() const { return std::get<StringPtr>(data_); }
  const Sequence& as_sequence() const { return *std::get<SequencePtr>(data_); }
  const SequencePtr& sequence_ptr() const { return std::get<SequencePtr>(data_); }
  const Dict& as_dict() const { return *std::get<DictPtr>(data_); }
  const Builtin* as_function() const { return std::get<const Builtin*>(data_); }
  const BoundMethod& as_method() const {
    return *std::get<std::shared_ptr<const BoundMethod>>(data_);
  }
  Object* as_object() const { return std::get<Object*>(data_); }

  // Where a scalar's digits came from when it is printed; strings and containers know themselves.
  Origin scalar_origin() const noexcept { return origin_; }
  Value with_origin(Origin origin) const {
    Value copy = *this;
    copy.origin_ = origin;
    return copy;
  }

  // A string that `safe` or `escape` marked (see markup.h).
  bool is_markup() const noexcept { return markup_; }
  Value with_markup(bool markup = true) const {
    Value copy = *this;
    copy.markup_ = markup;
    return copy;
  }

  bool truth() const noexcept;         // Python's bool()
  int depth() const noexcept;          // 0 for scalars and strings
  std::string_view type_name() const;  // Python's: "str", "dict", ...

 private:
  std::variant<Undefined, None, bool, int64_t, double, StringPtr, SequencePtr, DictPtr,
               const Builtin*, std::shared_ptr<const BoundMethod>, Object*, BigIntPtr>
      data_;
  Origin origin_ = Origin::kTemplate;
  bool markup_ = false;
};

inline constexpr std::string_view kGroupLabel = "group";

struct Sequence {
  enum class Flavour : uint8_t {
    kList,
    kTuple,
    kRange,
    kIterator,  // what select, map, reverse and their like give: may be walked once
    kDictKeys,
    kDictValues,
    kDictItems,
  };
  Flavour flavour = Flavour::kList;
  std::vector<Value> items;
  std::string label;              // how a range prints; kGroupLabel: a pair of groupby
  int depth = 1;                  // 1 + deepest item
  std::optional<Error> failure;   // kIterator: what walking it ends in, as Python computes lazily
  mutable bool consumed = false;  // kIterator; such a value lives in one render, on one thread

  bool indexable() const noexcept { return flavour <= Flavour::kRange; }
  bool sized() const noexcept { return flavour != Flavour::kIterator; }
};

// In order of insertion. Lookup is linear: tool schemas and messages have few members.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;

  const Value* find(std::string_view key) const noexcept;  // string keys only
};

struct BoundMethod {
  Value self;
  const Builtin* method;
};

// Mutable or callable things of one render (namespace, loop, macro, ...). Owned by the render's
// RenderState, never by values, so that cycles cannot leak.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const noexcept = 0;
  // The attribute, or kUndefined.
  virtual Result<Value> attribute(std::string_view name) = 0;
  // Steps (see RenderLimits) that attribute() costs.
  virtual uint64_t attribute_cost(std::string_view /*name*/) const noexcept { return 0; }
  // Refuses unless the object can be called.
  virtual Result<Value> call(Call& call);
  virtual bool is_callable() const noexcept { return false; }
};

// Depth-checked construction: kTooLong beyond kMaxValueDepth.
Result<Value> make_sequence(Sequence::Flavour flavour, std::vector<Value> items);
// What a lazy filter gives: its failure shows when somebody walks the result. Limits fail at once.
Result<Value> make_iterator(Result<std::vector<Value>> items);
Result<Value> make_dict(std::vector<std::pair<Value, Value>> items);  // keys already distinct

}  // namespace o3::text::jinja
