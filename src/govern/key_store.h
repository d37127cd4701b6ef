// SPDX-License-Identifier: Apache-2.0
// The API keys of one server, kept as digests in DATA_DIR/keys.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "govern/api_key.h"
#include "govern/principal.h"
#include "govern/secret.h"

namespace o3::govern {

struct KeyRow {
  std::string id;
  KeyDigest sha256;
  std::string created;  // ISO 8601, UTC
  std::string tenant;
  RequestClass request_class = RequestClass::kNormal;
  std::vector<std::string> models;  // "*": all
};

// The file's text <-> rows; exact: an unknown field is refused, because it may be a restriction
// that this version would not enforce. Errors name the row and field.
Result<std::vector<KeyRow>> parse_keys(std::string_view text);
std::string render_keys(const std::vector<KeyRow>& rows);

std::string_view class_name(RequestClass request_class) noexcept;  // "critical", ...
std::optional<RequestClass> class_from_name(std::string_view name) noexcept;

// Where the gate looks keys up. Any thread.
class KeySource {
 public:
  virtual ~KeySource() = default;
  // Whose key this text is.
  virtual std::optional<Principal> find(std::string_view presented) const = 0;
};

// Immutable after open().
class KeyStore final : public KeySource {
 public:
  struct Opened;
  // Reads `data_dir`/keys.json. When it is absent, makes it with one key (tenant "default", class
  // normal, all models), whose text is in Opened::new_key and nowhere else: the caller prints it
  // once. A file that is damaged or open to other users is an error that says how to repair it;
  // it is never overwritten.
  static Result<Opened> open(const std::filesystem::path& data_dir, const Clock& clock);

  explicit KeyStore(std::vector<KeyRow> rows) : rows_(std::move(rows)) {}

  // Looks at every row, whichever matches.
  std::optional<Principal> find(std::string_view presented) const override;
  size_t size() const noexcept { return rows_.size(); }

 private:
  std::vector<KeyRow> rows_;
};

struct KeyStore::Opened {
  KeyStore store;
  std::filesystem::path file;
  std::optional<Secret<std::string>> new_key;
};

}  // namespace o3::govern
