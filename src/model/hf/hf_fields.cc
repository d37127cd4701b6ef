// SPDX-License-Identifier: Apache-2.0
#include "model/hf/hf_fields.h"

#include "base/printable.h"

namespace o3::model {

using nlohmann::json;

const json* HfFields::find(const std::string& name) const {
  const auto at = object_->find(name);
  return at == object_->end() || at->is_null() ? nullptr : &*at;
}

Error HfFields::mismatch(const std::string& name, const char* wanted) const {
  return invalid(
      label(name) + " must be " + wanted + ", not " + printable(find(name)->dump(-1, ' ', true)),
      label(name));
}

Result<std::optional<int64_t>> HfFields::integer(const std::string& name) const {
  const json* value = find(name);
  if (value == nullptr) return std::optional<int64_t>{};
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  if (!fits) return mismatch(name, "an integer");
  return std::optional(value->get<int64_t>());
}

Result<std::optional<double>> HfFields::real(const std::string& name) const {
  const json* value = find(name);
  if (value == nullptr) return std::optional<double>{};
  if (!value->is_number()) return mismatch(name, "a number");
  return std::optional(value->get<double>());
}

Result<std::optional<bool>> HfFields::flag(const std::string& name) const {
  const json* value = find(name);
  if (value == nullptr) return std::optional<bool>{};
  if (!value->is_boolean()) return mismatch(name, "true or false");
  return std::optional(value->get<bool>());
}

Result<std::optional<std::string>> HfFields::text(const std::string& name) const {
  const json* value = find(name);
  if (value == nullptr) return std::optional<std::string>{};
  if (!value->is_string()) return mismatch(name, "text");
  return std::optional(value->get<std::string>());
}

Result<std::optional<HfFields>> HfFields::fields(const std::string& name) const {
  const json* value = find(name);
  if (value == nullptr) return std::optional<HfFields>{};
  if (!value->is_object()) return mismatch(name, "an object");
  return std::optional(HfFields(*value, label(name) + "."));
}

}  // namespace o3::model
