// SPDX-License-Identifier: Apache-2.0
#include "govern/key_admin.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <system_error>
#include <utility>

#include "govern/durable_file.h"

namespace o3::govern {
namespace {

constexpr size_t kMaxFileBytes = 16 << 20;
constexpr size_t kMaxWord = 128;

std::string iso_time(Nanoseconds wall) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(wall).count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

// What is written can be read again: the file's own rules decide about every row.
Result<void> replace_rows(const std::filesystem::path& file, const std::vector<KeyRow>& rows) {
  std::error_code error;
  if (std::filesystem::is_symlink(file, error)) {
    return invalid(file.string() + " is a link; change the file that it leads to");
  }
  const std::string text = render_keys(rows);
  O3_TRY(parse_keys(text));
  return write_private_file(file, text, IfExists::kReplace);
}

// These words stand in logs, lists and audit records.
Result<void> check_word(std::string_view word, const char* what) {
  constexpr std::string_view kMarks = "._:/@-";
  const bool fits =
      !word.empty() && word.size() <= kMaxWord && std::ranges::all_of(word, [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               kMarks.find(c) != std::string_view::npos;
      });
  if (fits) return {};
  return invalid(std::string(what) + " has 1 to 128 letters, digits or any of . _ : / @ -", what);
}

}  // namespace

Result<AddedKey> make_key(const NewKey& wanted, const Clock& clock) {
  if (!wanted.id.empty()) O3_TRY(check_word(wanted.id, "id"));
  O3_TRY(check_word(wanted.tenant, "tenant"));
  for (const std::string& model : wanted.models) {
    if (model != "*") O3_TRY(check_word(model, "model"));
  }
  O3_ASSIGN(Secret<std::string> text, make_credential(kApiKeyPrefix));
  std::string id = wanted.id;
  if (id.empty()) {
    O3_ASSIGN(const std::string suffix, random_hex(4));
    id = "key-" + suffix;
  }
  KeyRow row{.id = std::move(id),
             .sha256 = KeyDigest::of(text.reveal()),
             .created = iso_time(clock.wall()),
             .tenant = wanted.tenant,
             .request_class = wanted.request_class,
             .models = wanted.models};
  return AddedKey{std::move(row), std::move(text)};
}

Result<std::vector<KeyRow>> read_keys(const std::filesystem::path& file) {
  O3_ASSIGN(const std::string text, read_private_file(file, kMaxFileBytes));
  auto rows = parse_keys(text);
  if (rows.ok()) return rows;
  const Error& why = rows.error();
  return invalid(file.string() + " is not a valid key file: " + why.message +
                 (why.param.empty() ? "" : " (at " + why.param + ")") +
                 ". It was left as it is: repair it, or move it away to have a new key made");
}

Result<AddedKey> add_key(const std::filesystem::path& data_dir, const NewKey& wanted,
                         const Clock& clock) {
  O3_TRY(make_private_folder(data_dir));
  O3_ASSIGN(const FolderLock lock, FolderLock::take(data_dir));
  const std::filesystem::path file = data_dir / kKeyFileName;
  std::vector<KeyRow> rows;
  auto read = read_keys(file);
  if (read.ok()) {
    rows = *std::move(read);
  } else if (read.error().code != Code::kNotFound) {
    return std::move(read).error();
  }
  O3_ASSIGN(AddedKey made, make_key(wanted, clock));
  if (std::ranges::find(rows, made.row.id, &KeyRow::id) != rows.end()) {
    return Error{Code::kConflict, "there is a key \"" + made.row.id + "\" already", "id"};
  }
  rows.push_back(made.row);
  O3_TRY(replace_rows(file, rows));
  return made;
}

Result<void> revoke_key(const std::filesystem::path& data_dir, std::string_view id) {
  const std::filesystem::path file = data_dir / kKeyFileName;
  O3_TRY(read_keys(file));
  O3_ASSIGN(const FolderLock lock, FolderLock::take(data_dir));
  O3_ASSIGN(std::vector<KeyRow> rows, read_keys(file));
  if (std::erase_if(rows, [&](const KeyRow& row) { return row.id == id; }) == 0) {
    return Error{Code::kNotFound, "there is no key \"" + std::string(id) + "\" in " + file.string(),
                 "id"};
  }
  return replace_rows(file, rows);
}

}  // namespace o3::govern
