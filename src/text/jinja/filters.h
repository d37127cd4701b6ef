// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "text/jinja/call.h"

namespace o3::text::jinja {

// The parts of find_filter()'s table that sequence_filters.cc, ordering_filters.cc and
// text_filters.cc hold.
const Builtin* find_sequence_filter(std::string_view name) noexcept;
const Builtin* find_ordering_filter(std::string_view name) noexcept;
const Builtin* find_text_filter(std::string_view name) noexcept;

}  // namespace o3::text::jinja
