// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/from_json.h"

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "text/jinja/wide_int.h"
#include "text/unicode/utf8.h"

namespace o3::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

class Converter {
 public:
  Converter(RenderState& state, Origin origin) : state_(&state), origin_(origin) {}

  Result<Value> convert(const Json& json, int depth) {
    O3_TRY(state_->charge(1));
    switch (json.type()) {
      case Json::value_t::null:
        return Value().with_origin(origin_);
      case Json::value_t::boolean:
        return Value(json.get<bool>()).with_origin(origin_);
      case Json::value_t::number_integer:
        return Value(json.get<int64_t>()).with_origin(origin_);
      case Json::value_t::number_unsigned:
        return unsigned_integer(json.get<uint64_t>());
      case Json::value_t::number_float:
        return Value(json.get<double>()).with_origin(origin_);
      case Json::value_t::string:
        O3_TRY(state_->charge(json.get_ref<const std::string&>().size() / 16));
        return from_text(json.get_ref<const std::string&>(), origin_);
      case Json::value_t::array:
        return array(json, depth);
      case Json::value_t::object:
        return object(json, depth);
      case Json::value_t::binary: {
        const auto& digits = json.get_binary();  // see json_input.h
        O3_ASSIGN(const Value value,
                  integer_from_digits(std::string(digits.begin(), digits.end())));
        return value.with_origin(origin_);
      }
      case Json::value_t::discarded:
        break;
    }
    return invalid("a template variable holds a value that is not JSON");
  }

 private:
  Result<Value> unsigned_integer(uint64_t value) const {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Value::big_int(std::to_string(value)).with_origin(origin_);
    }
    return Value(static_cast<int64_t>(value)).with_origin(origin_);
  }

  Result<void> check_depth(int depth) const {
    if (depth < kMaxValueDepth) return {};
    return Error{Code::kTooLong,
                 "lists and mappings are nested deeper than " + std::to_string(kMaxValueDepth),
                 {}};
  }

  Result<Value> array(const Json& json, int depth) {
    O3_TRY(check_depth(depth));
    std::vector<Value> items;
    items.reserve(json.size());
    for (const Json& item : json) {
      O3_ASSIGN(Value value, convert(item, depth + 1));
      items.push_back(std::move(value));
    }
    return make_sequence(Sequence::Flavour::kList, std::move(items));
  }

  Result<Value> object(const Json& json, int depth) {
    O3_TRY(check_depth(depth));
    std::vector<std::pair<Value, Value>> items;
    items.reserve(json.size());
    for (const auto& [key, member] : json.items()) {
      O3_TRY(state_->charge(key.size() / 16));
      O3_ASSIGN(Value value, convert(member, depth + 1));
      items.emplace_back(from_text(key, origin_), std::move(value));
    }
    return make_dict(std::move(items));
  }

  RenderState* state_;
  Origin origin_;
};

}  // namespace

Value from_text(std::string_view text, Origin origin) {
  return Value(TaintedString(repaired_utf8(text), origin));
}

Result<Value> from_json(RenderState& state, const Json& json, Origin origin) {
  return Converter(state, origin).convert(json, 0);
}

}  // namespace o3::text::jinja
