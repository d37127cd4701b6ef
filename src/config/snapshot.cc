// SPDX-License-Identifier: Apache-2.0
#include "config/snapshot.h"

#include <algorithm>

#include "config/yaml_source.h"

namespace o3::config {
namespace {

// Levenshtein distance, for "did you mean".
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row[b.size()];
}

Error unknown(Table table, const Override& given) {
  std::string message = given.origin + ": there is no setting \"" + given.name.substr(0, 80) + "\"";
  if (given.name.size() <= 80) {
    const auto nearest = std::ranges::min_element(
        table, {}, [&](const Setting& row) { return distance(row.name, given.name); });
    if (nearest != table.end() && distance(nearest->name, given.name) <= 3) {
      message += "; did you mean \"" + std::string(nearest->name) + "\"?";
    }
  }
  return invalid(std::move(message), given.name);
}

Error misfit(const Override& given, const Error& why) {
  return invalid(given.origin + ": " + given.name + " " + why.message, given.name);
}

}  // namespace

Snapshot::Snapshot(Table table) : table_(table) {
  cells_.reserve(table.size());
  for (const Setting& row : table) {
    if (row.kind == Kind::kList) {
      O3_CHECK(row.standard.empty(), "a list has no default");
      cells_.push_back({std::vector<std::string>{}, "default"});
      continue;
    }
    auto value = parse_value(row, row.standard);
    O3_CHECK(value.ok(), "a default outside its own bounds");
    cells_.push_back({*std::move(value), "default"});
  }
}

Result<void> Snapshot::apply(const std::vector<Override>& given) {
  std::vector<bool> set(table_.size(), false);
  for (const Override& one : given) {
    const auto row = std::ranges::find(table_, one.name, &Setting::name);
    if (row == table_.end()) return unknown(table_, one);
    const auto index = static_cast<size_t>(row - table_.begin());
    const bool again = set[index];
    set[index] = true;
    auto value = parse_value(*row, one.text);
    if (!value.ok()) return misfit(one, value.error());
    Cell& cell = cells_[index];
    if (again && row->kind != Kind::kList) {
      return invalid(one.origin + ": " + one.name + " is given twice; it takes one value",
                     one.name);
    }
    if (again) {
      auto& items = std::get<std::vector<std::string>>(cell.value);
      items.push_back(one.text);
      continue;
    }
    cell = {*std::move(value), one.origin};
  }
  return {};
}

Result<Snapshot> Snapshot::load(Table table, const std::optional<std::filesystem::path>& file,
                                const std::vector<Override>& overrides) {
  Snapshot snapshot(table);
  if (file) {
    O3_ASSIGN(const auto from_file, read_yaml(*file));
    O3_TRY(snapshot.apply(from_file));
  }
  O3_TRY(snapshot.apply(overrides));
  for (const Setting& row : table) {
    if (row.kind != Kind::kList) continue;
    if (auto count = check_count(row, snapshot.list(row).size()); !count.ok()) {
      const std::string name(row.name);
      return invalid(snapshot.origin(row) + ": " + name + " " + count.error().message, name);
    }
  }
  return snapshot;
}

const Snapshot::Cell& Snapshot::cell(const Setting& row) const {
  const auto found = std::ranges::find(table_, row.name, &Setting::name);
  O3_CHECK(found != table_.end(), "a setting of another table");
  return cells_[static_cast<size_t>(found - table_.begin())];
}

const Value& Snapshot::value(const Setting& row) const {
  return cell(row).value;
}
const std::string& Snapshot::origin(const Setting& row) const {
  return cell(row).origin;
}

bool Snapshot::flag(const Setting& row) const {
  const bool* found = std::get_if<bool>(&value(row));
  O3_CHECK(found != nullptr, "not a flag");
  return *found;
}
int64_t Snapshot::integer(const Setting& row) const {
  const int64_t* found = std::get_if<int64_t>(&value(row));
  O3_CHECK(found != nullptr, "not a whole number");
  return *found;
}
double Snapshot::real(const Setting& row) const {
  const double* found = std::get_if<double>(&value(row));
  O3_CHECK(found != nullptr, "not a real number");
  return *found;
}
const std::string& Snapshot::text(const Setting& row) const {
  const auto* found = std::get_if<std::string>(&value(row));
  O3_CHECK(found != nullptr, "not a text");
  return *found;
}
const std::vector<std::string>& Snapshot::list(const Setting& row) const {
  const auto* found = std::get_if<std::vector<std::string>>(&value(row));
  O3_CHECK(found != nullptr, "not a list");
  return *found;
}
std::chrono::milliseconds Snapshot::millis(const Setting& row) const {
  O3_CHECK(row.kind == Kind::kMillis, "not a time");
  return std::chrono::milliseconds(integer(row));
}

}  // namespace o3::config
