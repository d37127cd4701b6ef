// SPDX-License-Identifier: Apache-2.0
#include "artifact/json_file.h"

#include <string_view>
#include <utility>

#include "artifact/mapped_file.h"

namespace o3::artifact {

Result<nlohmann::json> read_json_file(const std::filesystem::path& path,
                                      const config::JsonLimits& limits) {
  O3_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  auto json = config::read_json(text, limits);
  if (!json.ok()) {
    Error error = std::move(json).error();
    error.message = path.string() + ": " + error.message;
    return error;
  }
  if (!json->is_object()) return invalid(path.string() + " does not hold a JSON object");
  return json;
}

}  // namespace o3::artifact
