// SPDX-License-Identifier: Apache-2.0
#include "govern/key_store.h"

#include <array>
#include <ctime>

#include "govern/durable_file.h"

namespace o3::govern {
namespace {

constexpr size_t kMaxFileBytes = 16 << 20;

std::string iso_time(Nanoseconds wall) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(wall).count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

Result<KeyStore::Opened> load(const std::filesystem::path& file) {
  O3_ASSIGN(const std::string text, read_private_file(file, kMaxFileBytes));
  auto rows = parse_keys(text);
  if (!rows.ok()) {
    const Error& why = rows.error();
    return invalid(file.string() + " is not a valid key file: " + why.message +
                   (why.param.empty() ? "" : " (at " + why.param + ")") +
                   ". It was left as it is: repair it, or move it away to have a new key made");
  }
  return KeyStore::Opened{KeyStore(*std::move(rows)), file, std::nullopt};
}

Result<KeyStore::Opened> create(const std::filesystem::path& file, const Clock& clock) {
  O3_ASSIGN(Secret<std::string> key, make_credential(kApiKeyPrefix));
  O3_ASSIGN(std::string suffix, random_hex(4));
  std::vector<KeyRow> rows{{.id = "key-" + suffix,
                            .sha256 = KeyDigest::of(key.reveal()),
                            .created = iso_time(clock.wall()),
                            .tenant = "default",
                            .request_class = RequestClass::kNormal,
                            .models = {"*"}}};
  O3_TRY(write_private_file(file, render_keys(rows), IfExists::kKeep));
  return KeyStore::Opened{KeyStore(std::move(rows)), file, std::move(key)};
}

}  // namespace

Result<KeyStore::Opened> KeyStore::open(const std::filesystem::path& data_dir, const Clock& clock) {
  O3_TRY(make_private_folder(data_dir));
  const std::filesystem::path file = data_dir / "keys.json";
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
