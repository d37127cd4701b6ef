// SPDX-License-Identifier: Apache-2.0
#include "app/model_entries.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "api/served_model.h"
#include "artifact/hf/hf_directory.h"
#include "config/serve_settings.h"

namespace o3::app {
namespace {

namespace rows = config::serve;

// A directory's name may have dots ("Qwen2.5-0.5B").
std::string name_of(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? artifact::directory_name(path)
                                                    : path.stem().string();
}

// NAME=PATH, or a path whose name is the model's.
Result<ModelEntry> read_entry(const std::string& text, const config::Setting& row) {
  const size_t equals = text.find('=');
  ModelEntry entry;
  entry.path = equals == std::string::npos ? text : text.substr(equals + 1);
  entry.name = equals == std::string::npos ? name_of(text) : text.substr(0, equals);
  entry.at_start = row.name == rows::kModels.name;
  if (!entry.name.empty() && !entry.path.empty()) return entry;
  const std::string flag = entry.at_start ? "--model" : "--available";
  return invalid(flag + " takes NAME=PATH or PATH, not '" + text + "'", std::string(row.name));
}

// ALIAS=NAME, or ALIAS alone where there is one model.
Result<void> add_alias(const std::string& text, std::vector<ModelEntry>& entries) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos && entries.size() > 1) {
    return invalid("--alias " + text + " does not say of which model; write " + text + "=NAME",
                   "aliases");
  }
  const std::string name =
      equals == std::string::npos ? entries.front().name : text.substr(equals + 1);
  const auto owner = std::ranges::find(entries, name, &ModelEntry::name);
  if (owner == entries.end()) {
    return invalid("--alias " + text + " is for a model that is not configured", "aliases");
  }
  owner->aliases.push_back(text.substr(0, equals));
  return {};
}

Result<void> check_names(const std::vector<ModelEntry>& entries) {
  std::set<std::string> seen;
  const auto check = [&](const std::string& name, std::string_view param) -> Result<void> {
    Result<void> checked = api::check_model_id(name);
    if (checked.ok() && !seen.insert(name).second) {
      checked = invalid("the model name \"" + name + "\" is given twice", "models");
    }
    if (checked.ok()) return {};
    Error error = std::move(checked).error();
    error.param = param;
    return error;
  };
  for (const ModelEntry& entry : entries) {
    O3_TRY(check(entry.name, entry.at_start ? rows::kModels.name : rows::kAvailable.name));
  }
  for (const ModelEntry& entry : entries) {
    for (const std::string& alias : entry.aliases) O3_TRY(check(alias, rows::kAliases.name));
  }
  return {};
}

}  // namespace

Result<std::vector<ModelEntry>> model_entries(const config::Snapshot& settings) {
  std::vector<ModelEntry> entries;
  for (const config::Setting* row : {&rows::kModels, &rows::kAvailable}) {
    for (const std::string& text : settings.list(*row)) {
      O3_ASSIGN(ModelEntry entry, read_entry(text, *row));
      entries.push_back(std::move(entry));
    }
  }
  if (entries.empty()) return invalid("give a model to serve: --model [NAME=]PATH", "models");
  for (const std::string& text : settings.list(rows::kAliases)) O3_TRY(add_alias(text, entries));
  O3_TRY(check_names(entries));
  return entries;
}

}  // namespace o3::app
