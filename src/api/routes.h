// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/registry.h>

#include <span>
#include <vector>

#include "api/page/assets.h"
#include "api/services.h"

namespace o3::api {

// The whole table. What it is given must outlive it.
std::vector<Route> make_routes(Services& services, const prometheus::Registry& registry,
                               std::span<const Asset> assets);

}  // namespace o3::api
