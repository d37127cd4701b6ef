// SPDX-License-Identifier: Apache-2.0
#include "govern/key_store.h"

#include "govern/durable_file.h"
#include "govern/key_admin.h"

namespace o3::govern {
namespace {

Result<KeyStore::Opened> load(const std::filesystem::path& file) {
  O3_ASSIGN(std::vector<KeyRow> rows, read_keys(file));
  return KeyStore::Opened{KeyStore(std::move(rows)), file, std::nullopt};
}

Result<KeyStore::Opened> create(const std::filesystem::path& file, const Clock& clock) {
  O3_ASSIGN(AddedKey made, make_key({}, clock));
  std::vector<KeyRow> rows{std::move(made.row)};
  O3_TRY(write_private_file(file, render_keys(rows), IfExists::kKeep));
  return KeyStore::Opened{KeyStore(std::move(rows)), file, std::move(made.text)};
}

}  // namespace

Result<KeyStore::Opened> KeyStore::open(const std::filesystem::path& data_dir, const Clock& clock) {
  O3_TRY(make_private_folder(data_dir));
  const std::filesystem::path file = data_dir / kKeyFileName;
  auto loaded = load(file);
  if (loaded.ok() || loaded.error().code != Code::kNotFound) return loaded;
  auto created = create(file, clock);
  // Another server made the file in between: its keys count, ours was never in force.
  if (!created.ok() && created.error().code == Code::kConflict) return load(file);
  return created;
}

std::optional<Principal> KeyStore::find(std::string_view presented) const {
  if (presented.size() > kMaxCredentialBytes) return std::nullopt;
  const KeyDigest digest = KeyDigest::of(presented);
  const KeyRow* match = nullptr;
  for (const KeyRow& row : rows_) {
    if (row.sha256.same(digest)) match = &row;
  }
  if (match == nullptr) return std::nullopt;
  return Principal{.kind = PrincipalKind::kApiKey,
                   .id = "svc:" + match->id,
                   .tenant = match->tenant,
                   .request_class = match->request_class,
                   .models = match->models};
}

}  // namespace o3::govern
