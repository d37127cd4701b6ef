// SPDX-License-Identifier: Apache-2.0
#include "app/start_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace o3::app {
namespace {

std::string key_lines(const govern::KeyStore::Opened& keys) {
  if (keys.file.empty()) return {};  // --no-auth
  if (!keys.new_key.has_value()) {
    return "API keys: " + std::to_string(keys.store.size()) + " in " + keys.file.string() +
           " (each was shown when it was made)\n";
  }
  return "API key (shown this once; kept as a digest in " + keys.file.string() + "):\n  " +
         keys.new_key->reveal() + "\n";
}

std::string json_line(nlohmann::ordered_json object, const govern::KeyStore::Opened& keys) {
  if (keys.new_key.has_value()) object["new_key"] = keys.new_key->reveal();
  return object.dump() + "\n";
}

Result<void> write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return {};
  }
  return unavailable("cannot write to standard output, where the API key and the link are shown");
}

}  // namespace

Result<void> print(const StartReport& report, const govern::KeyStore::Opened& keys, bool json) {
  if (json) {
    return write_out(json_line({{"address", report.address}, {"page", report.page}}, keys));
  }
  const std::string reach = report.everywhere ? " (on all interfaces, without TLS)" : "";
  return write_out("Serving " + report.address + "/v1" + reach + "\n" + key_lines(keys) +
                   "Chat page (link valid until this server stops):\n  " + report.page + "\n");
}

Result<void> print_new_key(const govern::KeyStore::Opened& keys, bool json) {
  if (!keys.new_key.has_value()) return {};
  return write_out(json ? json_line(nlohmann::ordered_json::object(), keys) : key_lines(keys));
}

}  // namespace o3::app
