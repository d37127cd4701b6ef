// SPDX-License-Identifier: Apache-2.0
// The values of a settings table at one moment.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/setting.h"
#include "config/value.h"

namespace o3::config {

// A value given outside the file, from the command line. Repeating the name of a kList row adds an
// item; an override replaces what the file says.
struct Override {
  std::string name;    // a row's name
  std::string text;    // the value's text
  std::string origin;  // how the user wrote it, e.g. "--port"; for messages
};

// Immutable. Asking for a row of another table or with the wrong kind is a broken invariant.
class Snapshot {
 public:
  // Defaults, then the file (YAML, nested maps are dotted names), then the overrides. An unknown
  // name, a duplicate, a value of the wrong form or outside its bounds is kInvalid and names the
  // setting, where it was written and what is allowed. The table must outlive the snapshot.
  static Result<Snapshot> load(Table table, const std::optional<std::filesystem::path>& file,
                               const std::vector<Override>& overrides);

  bool flag(const Setting& row) const;
  int64_t integer(const Setting& row) const;  // kInt and kBytes
  double real(const Setting& row) const;
  const std::string& text(const Setting& row) const;
  const std::vector<std::string>& list(const Setting& row) const;
  std::chrono::milliseconds millis(const Setting& row) const;

  const Value& value(const Setting& row) const;
  const std::string& origin(const Setting& row) const;  // "default", "FILE:LINE" or "--flag"
  Table table() const noexcept { return table_; }

 private:
  struct Cell {
    Value value;
    std::string origin;
  };
  explicit Snapshot(Table table);
  Result<void> apply(const std::vector<Override>& given);
  const Cell& cell(const Setting& row) const;

  Table table_;
  std::vector<Cell> cells_;  // one per row, in the table's order
};

}  // namespace o3::config
