// SPDX-License-Identifier: Apache-2.0
// What `o3 keys` does with a server's key file. A running server notices within a second.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "govern/key_store.h"
#include "govern/secret.h"

namespace o3::govern {

inline constexpr std::string_view kKeyFileName = "keys.json";

struct NewKey {
  std::string id{};  // empty: "key-" and eight hex digits
  std::string tenant = "default";
  RequestClass request_class = RequestClass::kNormal;
  std::vector<std::string> models = {"*"};
};

struct AddedKey {
  KeyRow row;
  Secret<std::string> text;  // to be shown once; only its digest is kept
};

// Nothing is written. kInvalid names the field that cannot be.
Result<AddedKey> make_key(const NewKey& wanted, const Clock& clock);

// All rows of a key file; kNotFound when there is none.
Result<std::vector<KeyRow>> read_keys(const std::filesystem::path& file);

// In `data_dir`/keys.json, which it makes where it is missing; of two that change it at the same
// time one waits for the other. kConflict: the id is taken.
Result<AddedKey> add_key(const std::filesystem::path& data_dir, const NewKey& wanted,
                         const Clock& clock);

// kNotFound: there is no such key.
Result<void> revoke_key(const std::filesystem::path& data_dir, std::string_view id);

}  // namespace o3::govern
