// SPDX-License-Identifier: Apache-2.0
// Any configuration file: refused with an error that names the file, or values inside the bounds
// of their rows.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"
#include "config/serve_settings.h"
#include "config/snapshot.h"
#include "config/yaml_source.h"

namespace {

namespace rows = o3::config::serve;

// In memory where the system has such a folder: one file is written per run.
const std::filesystem::path& scratch() {
  static const std::filesystem::path kFile = [] {
    const std::filesystem::path memory("/dev/shm");
    const auto folder =
        ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    return folder / ("o3_yaml_fuzz_" + std::to_string(::getpid()) + ".yaml");
  }();
  return kFile;
}

void check_bounds(const o3::config::Snapshot& settings) {
  const int64_t port = settings.integer(rows::kPort);
  O3_CHECK(port >= 0 && port <= 65535, "port");
  const int64_t body = settings.integer(rows::kBodyBytes);
  O3_CHECK(body >= 1024 && body <= 1 << 30, "http.body_bytes");
  O3_CHECK(settings.millis(rows::kDrainTimeout).count() >= 0, "drain_timeout");
  O3_CHECK(settings.text(rows::kHost).size() <= 255, "host");
  O3_CHECK(settings.list(rows::kModels).size() <= 64, "models");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::filesystem::path& file = scratch();
  {
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  }
  const auto values = o3::config::read_yaml(file);
  const auto settings = o3::config::Snapshot::load(rows::kRows, file, {});
  std::filesystem::remove(file);
  if (!values.ok()) {
    O3_CHECK(values.error().message.find(file.string()) != std::string::npos, "names the file");
    O3_CHECK(!settings.ok(), "no settings from a file that cannot be read");
    return 0;
  }
  for (const auto& value : *values) {
    O3_CHECK(value.origin.starts_with(file.string() + ":"), "each value knows its line");
  }
  if (settings.ok()) {
    check_bounds(*settings);
  } else {
    O3_CHECK(!settings.error().message.empty(), "an error says something");
  }
  return 0;
}
