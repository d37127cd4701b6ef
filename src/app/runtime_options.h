// SPDX-License-Identifier: Apache-2.0
// Options that commands running a model share, and what they turn into.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::app {

inline constexpr const char* kModelHelp = "GGUF file or Hugging Face directory";

struct RuntimeOptions {
  std::string model;  // path
  int threads = 0;    // 0: all that this process may use
  std::string isa;    // empty: the machine's best
  std::string compute = "fast";
  std::string kv;  // empty: f16 with fast, f32 with f32
  std::string weights = "file";
  std::string device = "cpu";
};

// Adds --threads, --isa, --compute, --kv, --weights, --device; --model is each command's own.
void add_runtime_options(CLI::App& command, RuntimeOptions& options);

// The backend of --device. kUnsupported when this machine or this build has no such device.
Result<std::unique_ptr<device::Backend>> make_backend(const RuntimeOptions& options);
model::LoadOptions load_options(const RuntimeOptions& options);

}  // namespace o3::app
