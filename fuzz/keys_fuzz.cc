// SPDX-License-Identifier: Apache-2.0
// Any text of keys.json: refused with a reason, or rows that are written and read back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "govern/key_store.h"

namespace {

using o3::govern::KeyRow;

void check_same(const KeyRow& a, const KeyRow& b) {
  O3_CHECK(a.id == b.id && a.created == b.created && a.tenant == b.tenant, "texts");
  O3_CHECK(a.sha256.same(b.sha256) && a.request_class == b.request_class, "digest and class");
  O3_CHECK(a.models == b.models, "models");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rows = o3::govern::parse_keys(text);
  if (!rows.ok()) {
    O3_CHECK(!rows.error().message.empty(), "an error says something");
    return 0;
  }
  const auto again = o3::govern::parse_keys(o3::govern::render_keys(*rows));
  O3_CHECK(again.ok() && again->size() == rows->size(), "what is written can be read");
  for (size_t i = 0; i < rows->size(); ++i) check_same((*rows)[i], (*again)[i]);
  const o3::govern::KeyStore store(*rows);
  // Its own text as a credential: a match would be a digest of the file inside the file.
  O3_CHECK(!store.find(text).has_value(), "no row can hold its own file's hash");
  return 0;
}
