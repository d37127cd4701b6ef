// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/call.h"

#include <algorithm>
#include <string>

namespace o3::text::jinja {
namespace {

std::vector<std::string_view> split_names(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    names.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

Error misuse(std::string_view what, const Builtin& builtin, std::string_view problem) {
  return invalid(std::string(what) + " '" + std::string(builtin.name) +
                 "': " + std::string(problem));
}

Result<void> bind(const Builtin& builtin, Call& call, std::string_view what) {
  const std::vector<std::string_view> names = split_names(builtin.parameters);
  if (call.positional.size() > names.size()) return misuse(what, builtin, "too many arguments");
  call.bound.assign(names.size(), nullptr);
  for (size_t i = 0; i < call.positional.size(); ++i) call.bound[i] = &call.positional[i];
  for (const auto& [name, value] : call.named) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      return misuse(what, builtin, "no argument is named '" + std::string(name) + "'");
    }
    const auto index = static_cast<size_t>(found - names.begin());
    if (call.bound[index] != nullptr) {
      return misuse(what, builtin, "argument '" + std::string(name) + "' is given twice");
    }
    call.bound[index] = &value;
  }
  for (size_t i = 0; i < static_cast<size_t>(builtin.required); ++i) {
    if (call.bound[i] == nullptr) {
      return misuse(what, builtin, "argument '" + std::string(names[i]) + "' is missing");
    }
  }
  return {};
}

}  // namespace

Result<Value> invoke(const Builtin& builtin, Call& call, std::string_view what) {
  if (builtin.run == nullptr) {
    return unsupported("the " + std::string(what) + " '" + std::string(builtin.name) +
                       "' is not supported");
  }
  O3_TRY(call.charge(2));
  if (builtin.parameters != "*") O3_TRY(bind(builtin, call, what));
  return builtin.run(call);
}

Value Call::name_value(std::string_view name) const {
  for (const StringPtr& key : splatted) {
    if (key->view().data() == name.data()) return Value(key);
  }
  return Value::trusted(name);
}

Result<int64_t> int_argument(const Call& call, size_t index, int64_t otherwise) {
  const Value* value = call.arg(index);
  if (value == nullptr) return otherwise;
  if (!value->is_integral()) {
    return invalid("an argument must be an integer, not " + std::string(value->type_name()));
  }
  return value->as_int();
}

Result<StringPtr> string_argument(const Call& call, size_t index) {
  const Value* value = call.arg(index);
  if (value == nullptr || value->is_none()) return StringPtr();
  if (!value->is_string()) {
    return invalid("an argument must be a string, not " + std::string(value->type_name()));
  }
  return value->string_ptr();
}

bool flag_argument(const Call& call, size_t index, bool otherwise) {
  const Value* value = call.arg(index);
  return value == nullptr ? otherwise : value->truth();
}

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) noexcept {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Builtin& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

Result<Value> Object::call(Call& /*call*/) {
  return invalid("a " + std::string(type_name()) + " is not callable");
}

}  // namespace o3::text::jinja
