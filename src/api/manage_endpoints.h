// SPDX-License-Identifier: Apache-2.0
// Loading and unloading of models, in the forms of llama-server's router.
#pragma once

#include <string>

#include "api/gate.h"
#include "api/route_table.h"
#include "api/services.h"

namespace o3::api {

// {"data": [{"id", "object", "status": {"value", "error"?}}]} of the models that the key may use.
http::Response list_managed(const Services& services,
                            const Authorized<govern::Action::kListModels>& authorized);

// The body's {"model": NAME}.
Result<Resolved<std::string>> resolve_managed(Services& services, http::Exchange& exchange);

// {"success": true}: it has begun.
Result<http::Response> load_managed(const Services& services, const std::string& id);
Result<http::Response> unload_managed(const Services& services, const std::string& id);

}  // namespace o3::api
