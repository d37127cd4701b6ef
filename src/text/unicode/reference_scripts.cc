// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/reference_scripts.h"

#include <algorithm>
#include <iterator>

namespace o3::text {
namespace {

struct ScriptRun {
  char32_t first;
  uint8_t script;
};
#include "text/unicode/reference_scripts.inc"

}  // namespace

uint8_t reference_script(char32_t code) noexcept {
  const auto* after = std::upper_bound(std::begin(kScriptRuns), std::end(kScriptRuns), code,
                                       [](char32_t c, const ScriptRun& r) { return c < r.first; });
  return (after - 1)->script;  // the first run begins at 0
}

}  // namespace o3::text
