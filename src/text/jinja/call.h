// SPDX-License-Identifier: Apache-2.0
// Calls of built-in functions, methods, filters and tests: one signature for all.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

struct Call;

struct Builtin {
  std::string_view name;
  // Parameter names separated by blanks; a leading '.' makes one positional-only; "*" takes
  // whatever comes and leaves binding to run().
  std::string_view parameters;
  int required;
  Result<Value> (*run)(Call& call);  // null: Python has it, this version does not
};

struct Call {
  RenderState* state;
  Value self;  // receiver of a method, subject of a filter or test
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  std::vector<const Value*> bound = {};  // by parameter; null where the caller left it out
  std::vector<StringPtr> splatted = {};  // keys that ** gave; views in `named` point into them

  const Value* arg(size_t index) const { return index < bound.size() ? bound[index] : nullptr; }
  Result<void> charge(uint64_t steps) const { return state->charge(steps); }
  // A name of `named` as a value, with the origin of its text.
  Value name_value(std::string_view name) const;
};

// Binds the arguments and runs. kInvalid for arguments that do not fit, kUnsupported where run is
// null; `what` is "filter", "test", ...
Result<Value> invoke(const Builtin& builtin, Call& call, std::string_view what);

// Typed arguments, with the message that Python's users expect.
Result<int64_t> int_argument(const Call& call, size_t index, int64_t otherwise);
Result<StringPtr> string_argument(const Call& call, size_t index);  // null when left out or None
bool flag_argument(const Call& call, size_t index, bool otherwise);

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) noexcept;

// The tables. Null: no such name.
const Builtin* find_filter(std::string_view name) noexcept;
const Builtin* find_test(std::string_view name) noexcept;
const Builtin* find_function(std::string_view name) noexcept;  // globals
const Builtin* find_method(const Value& self, std::string_view name) noexcept;
// Python has it, but calling it would change the value; templates may not.
bool is_mutating_method(const Value& self, std::string_view name) noexcept;

}  // namespace o3::text::jinja
