// SPDX-License-Identifier: Apache-2.0
// a.b, a[b] and a[b:c:d] as Jinja's sandbox resolves them.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

// object.name: a method or attribute first, then the member of that name. Missing: kUndefined.
Result<Value> get_attribute(RenderState& state, const Value& object, std::string_view name);

// object[key]: the member first, then (for string keys) the attribute. Missing: kUndefined.
Result<Value> get_item(RenderState& state, const Value& object, const Value& key);

// object[begin:end:step]; absent bounds as in Python. Refuses where get_item() would give
// undefined.
struct SliceBounds {
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
  std::optional<int64_t> step;
};
Result<Value> get_slice(RenderState& state, const Value& object, const SliceBounds& bounds);

}  // namespace o3::text::jinja
