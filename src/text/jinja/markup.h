// SPDX-License-Identifier: Apache-2.0
// Text marked as HTML by `safe` or `escape` (markupsafe's Markup): joining it with ordinary text
// escapes that text. Chat templates that say `x|tojson|safe + y` depend on it.
#pragma once

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

// & < > ' " as entities.
Result<TaintedString> escape_html(RenderState& state, const TaintedString& text);

// The string itself where it is markup, else escaped.
Result<StringPtr> as_html(RenderState& state, const Value& string);

// What a method of markup gives: strings, also those in lists and tuples, become markup.
Result<Value> marked(const Value& result);

}  // namespace o3::text::jinja
