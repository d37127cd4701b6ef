// SPDX-License-Identifier: Apache-2.0
// The form of keys.json.
#include <algorithm>
#include <array>

#include "config/json_reader.h"
#include "govern/key_store.h"

namespace o3::govern {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr size_t kMaxText = 256;
constexpr size_t kMaxModels = 1024;

struct ClassName {
  std::string_view name;
  RequestClass value;
};
constexpr std::array kClasses{
    ClassName{"critical", RequestClass::kCritical}, ClassName{"high", RequestClass::kHigh},
    ClassName{"normal", RequestClass::kNormal}, ClassName{"low", RequestClass::kLow}};

}  // namespace

std::string_view class_name(RequestClass request_class) noexcept {
  return std::ranges::find(kClasses, request_class, &ClassName::value)->name;
}

std::optional<RequestClass> class_from_name(std::string_view name) noexcept {
  const auto found = std::ranges::find(kClasses, name, &ClassName::name);
  return found == kClasses.end() ? std::nullopt : std::optional(found->value);
}

namespace {

// Reads the fields of one row; each take_*() names what is wrong with its place.
class RowReader {
 public:
  RowReader(const json& row, size_t index)
      : row_(row), place_("keys[" + std::to_string(index) + "]") {}

  Result<KeyRow> read() {
    if (!row_.is_object()) return invalid(place_ + " must be an object");
    KeyRow key;
    O3_TRY(only_known());
    O3_TRY(text("id", key.id));
    O3_TRY(text("created", key.created));
    O3_TRY(text("tenant", key.tenant));
    O3_TRY(digest(key.sha256));
    O3_TRY(request_class(key.request_class));
    O3_TRY(models(key.models));
    return key;
  }

 private:
  Result<void> only_known() const {
    constexpr std::array kFields{"id", "sha256", "created", "tenant", "class", "models"};
    for (const auto& [name, value] : row_.items()) {
      if (std::ranges::find(kFields, name) == kFields.end()) {
        return invalid(place_ + " has a field this version does not know: \"" + name + "\"");
      }
    }
    return {};
  }

  Result<void> text(const char* name, std::string& out) const {
    const auto field = row_.find(name);
    const auto* value = field == row_.end() ? nullptr : field->get_ptr<const std::string*>();
    if (value == nullptr || value->empty() || value->size() > kMaxText) {
      return invalid(place_ + "." + name + " must be a text of 1 to 256 bytes");
    }
    out = *value;
    return {};
  }

  Result<void> digest(KeyDigest& out) const {
    std::string hex;
    O3_TRY(text("sha256", hex));
    const auto parsed = KeyDigest::from_hex(hex);
    if (!parsed) return invalid(place_ + ".sha256 must be 64 lower-case hex digits");
    out = *parsed;
    return {};
  }

  Result<void> request_class(RequestClass& out) const {
    std::string name;
    O3_TRY(text("class", name));
    const auto found = class_from_name(name);
    if (!found) return invalid(place_ + ".class must be critical, high, normal or low");
    out = *found;
    return {};
  }

  Result<void> models(std::vector<std::string>& out) const {
    const auto field = row_.find("models");
    if (field == row_.end() || !field->is_array() || field->size() > kMaxModels) {
      return invalid(place_ + ".models must be a list of model names (\"*\" for all)");
    }
    for (const json& item : *field) {
      const auto* name = item.get_ptr<const std::string*>();
      if (name == nullptr) return invalid(place_ + ".models must hold texts");
      out.push_back(*name);
    }
    return {};
  }

  const json& row_;
  std::string place_;
};

}  // namespace

Result<std::vector<KeyRow>> parse_keys(std::string_view text) {
  O3_ASSIGN(const json root, config::read_json(text, {.bytes = 16 << 20, .values = 2'000'000}));
  const bool known = root.is_object() && root.size() == 2 && root.contains("version") &&
                     root.contains("keys") && root["keys"].is_array();
  if (!known || root["version"] != kVersion) {
    return invalid("must be {\"version\": 1, \"keys\": [...]}");
  }
  std::vector<KeyRow> rows;
  for (const json& item : root["keys"]) {
    O3_ASSIGN(KeyRow row, RowReader(item, rows.size()).read());
    if (std::ranges::find(rows, row.id, &KeyRow::id) != rows.end()) {
      return invalid("keys[" + std::to_string(rows.size()) + "].id is used twice");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string render_keys(const std::vector<KeyRow>& rows) {
  nlohmann::ordered_json keys = nlohmann::ordered_json::array();
  for (const KeyRow& row : rows) {
    keys.push_back({{"id", row.id},
                    {"sha256", row.sha256.hex()},
                    {"created", row.created},
                    {"tenant", row.tenant},
                    {"class", std::string(class_name(row.request_class))},
                    {"models", row.models}});
  }
  const nlohmann::ordered_json root{{"version", kVersion}, {"keys", std::move(keys)}};
  return root.dump(2) + "\n";
}

}  // namespace o3::govern
