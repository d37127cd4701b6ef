// SPDX-License-Identifier: Apache-2.0
// Python's str methods on text with origins. Offsets are bytes at code point borders.
#pragma once

#include <cstdint>
#include <vector>

#include "text/jinja/render_state.h"

namespace o3::text::jinja {

enum class Side : uint8_t { kLeft, kRight, kBoth };

// chars null: white space.
Result<TaintedString> strip(RenderState& state, const TaintedString& text,
                            const TaintedString* chars, Side side);

// separator null: runs of white space. limit < 0: no limit.
Result<std::vector<Value>> split(RenderState& state, const TaintedString& text,
                                 const TaintedString* separator, int64_t limit);
Result<std::vector<Value>> split_right(RenderState& state, const TaintedString& text,
                                       const TaintedString* separator, int64_t limit);
Result<std::vector<Value>> split_lines(RenderState& state, const TaintedString& text,
                                       bool keep_ends);

Result<TaintedString> replace(RenderState& state, const TaintedString& text,
                              const TaintedString& from, const TaintedString& to, int64_t limit);

enum class CaseMap : uint8_t { kUpper, kLower, kTitle, kCapitalize, kSwap, kFold };
Result<TaintedString> map_case(RenderState& state, const TaintedString& text, CaseMap map);

// jinja2's title filter: each word's first character in upper case, the others in lower case.
Result<TaintedString> title_words(RenderState& state, const TaintedString& text);

// str() of each item with the separator between.
Result<TaintedString> join(RenderState& state, const std::vector<Value>& items,
                           const TaintedString& separator);

// Last match, or npos.
Result<size_t> find_last(RenderState& state, const TaintedString& text, const TaintedString& part);

}  // namespace o3::text::jinja
