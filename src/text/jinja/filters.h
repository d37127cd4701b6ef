// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "text/jinja/call.h"

namespace o3::text::jinja {

// The part of find_filter()'s table that sequence_filters.cc holds.
const Builtin* find_sequence_filter(std::string_view name) noexcept;
// The part that more_filters.cc holds.
const Builtin* find_more_filter(std::string_view name) noexcept;

}  // namespace o3::text::jinja
