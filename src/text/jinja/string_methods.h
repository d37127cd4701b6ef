// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "text/jinja/call.h"

namespace o3::text::jinja {

// The part of find_method() that string_methods.cc holds.
const Builtin* find_string_method(std::string_view name) noexcept;

}  // namespace o3::text::jinja
