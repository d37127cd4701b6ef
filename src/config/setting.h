// SPDX-License-Identifier: Apache-2.0
// One row of a settings table: everything the program knows about a setting is in its row, so that
// validation, help text, documentation and redaction cannot disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace o3::config {

enum class Kind : uint8_t {
  kFlag,    // true | false
  kInt,     // whole number
  kReal,    // number
  kText,    // bounds count bytes of UTF-8
  kBytes,   // "512", "64KiB", "4GB": decimal and binary units; bounds count bytes
  kMillis,  // "250ms", "10s", "5m": the unit is required; bounds count milliseconds
  kList,    // texts; bounds count items; a flag may be repeated, a file gives a sequence
};

enum class Reload : uint8_t {
  kRestart,  // read once at start; a live change is refused by name
  kLive,     // a new snapshot may change it
};

struct Bounds {
  double min = 0;  // inclusive; exact for whole numbers below 2^53
  double max = 0;  // inclusive
};

struct Setting {
  std::string_view name;  // dotted path in the file; on the command line --name with '.' and '_'
                          // written as '-'
  Kind kind = Kind::kText;
  std::string_view standard;  // the default, in the text form above; of kList: always empty
  Bounds bounds;
  std::string_view doc;  // one sentence: what it does and in which unit
  Reload reload = Reload::kRestart;
  bool secret = false;  // never shown: show() and errors give "(secret)" in its place
};

using Table = std::span<const Setting>;

}  // namespace o3::config
