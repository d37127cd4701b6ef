// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/jinja/call.h"

namespace o3::text::jinja {

// str.format(*positional, **named) of call.self.
Result<Value> format_string(Call& call);

}  // namespace o3::text::jinja
