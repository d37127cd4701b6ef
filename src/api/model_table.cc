// SPDX-License-Identifier: Apache-2.0
#include "api/model_table.h"

#include <algorithm>
#include <string>

namespace o3::api {
namespace {

std::shared_ptr<const ServedModel> find_in(const ModelTable::Models& models,
                                           std::string_view name) {
  for (const auto& model : models) {
    if (model->id == name || std::ranges::find(model->aliases, name) != model->aliases.end()) {
      return model;
    }
  }
  return nullptr;
}

}  // namespace

Result<void> check_model_id(std::string_view id) {
  constexpr std::string_view kMarks = "._:/-";
  const bool fits = !id.empty() && id.size() <= 128 && std::ranges::all_of(id, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
  if (fits) return {};
  return invalid("the model name \"" + std::string(id.substr(0, 128)) +
                     "\" must have 1 to 128 letters, digits or any of . _ : / -",
                 "models");
}

std::shared_ptr<const ModelTable::Models> ModelTable::all() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

std::shared_ptr<const ServedModel> ModelTable::find(std::string_view name) const {
  return find_in(*all(), name);
}

Result<void> ModelTable::add(std::shared_ptr<const ServedModel> model) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names{model->id};
  for (const std::string& alias : model->aliases) {
    const bool twice = std::ranges::find(names, alias) != names.end();
    names.push_back(alias);
    if (twice) return invalid("the model name \"" + alias + "\" is given twice", "models");
  }
  for (const std::string& name : names) {
    O3_TRY(check_model_id(name));
    if (find_in(*models_, name) == nullptr) continue;
    return invalid("the model name \"" + name + "\" is given twice", "models");
  }
  auto more = std::make_shared<Models>(*models_);
  more->push_back(std::move(model));
  models_ = std::move(more);
  return {};
}

std::shared_ptr<const ServedModel> ModelTable::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  auto fewer = std::make_shared<Models>(*models_);
  const auto place = std::ranges::find(*fewer, id, [](const auto& model) { return model->id; });
  if (place == fewer->end()) return nullptr;
  auto removed = *place;
  fewer->erase(place);
  models_ = std::move(fewer);
  return removed;
}

}  // namespace o3::api
