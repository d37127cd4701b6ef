// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "api/route_table.h"

namespace o3::api {

// The OpenAPI 3.0 document of the table's rows, without the page's assets. JSON.
std::string openapi_document(std::span<const Route> rows);

}  // namespace o3::api
