// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "api/served_model.h"
#include "base/result.h"

namespace o3::api {

// The models that are served now. Any thread. Who found a model may use it also after it left: the
// engine then refuses its requests.
class ModelTable {
 public:
  using Models = std::vector<std::shared_ptr<const ServedModel>>;

  std::shared_ptr<const Models> all() const;  // in the order in which they came
  // By id or alias; nullptr if there is none.
  std::shared_ptr<const ServedModel> find(std::string_view name) const;

  // kInvalid: a name is malformed, or in use.
  Result<void> add(std::shared_ptr<const ServedModel> model);
  // The model that is no longer found; nullptr if there was none of this id.
  std::shared_ptr<const ServedModel> remove(std::string_view id);

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Models> models_ =
      std::make_shared<const Models>();  // replaced, never changed
};

}  // namespace o3::api
