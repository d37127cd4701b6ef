// SPDX-License-Identifier: Apache-2.0
// Any bytes: refused with an error, or a model that can take a step.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "artifact/gguf/gguf_file.h"
#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "eval/model_session.h"
#include "model/load_model.h"

namespace {

constexpr size_t kMemoryLimit = size_t{64} << 20U;

// A step of two tokens from an empty cache.
void step(const o3::model::Model& model, o3::device::Backend& backend) {
  using o3::eval::Feed;
  const auto tokens = std::to_array<o3::Token>({0, model.config().vocabulary - 1});
  const auto count = static_cast<size_t>(model.config().context > 1 ? 2 : 1);
  auto session = o3::eval::ModelSession::create(
      model, backend, o3::kernels::Compute::kFast,
      {.sequences = 1, .context = static_cast<int32_t>(count), .step_rows = 2, .step_logits = 2});
  if (!session.ok()) return;  // the memory limit
  const Feed feed{.sequence = 0, .tokens = std::span(tokens).first(count)};
  constexpr std::array<int32_t, 1> kRows{0};
  O3_CHECK((*session)->step({&feed, 1}, kRows).ok(), "a loaded model takes a step");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto parsed = o3::artifact::GgufFile::parse(std::as_bytes(std::span(data, size)), "fuzz.gguf");
  if (!parsed.ok()) return 0;
  const auto file = std::make_shared<const o3::artifact::GgufFile>(*std::move(parsed));
  const auto source = o3::model::open_source(file);
  if (!source.ok()) return 0;
  const auto backend =
      *o3::device::cpu::CpuBackend::create({.threads = 1, .memory_limit_bytes = kMemoryLimit});
  const auto model = o3::model::load_model(*source, *backend, {});
  if (!model.ok()) {
    O3_CHECK(!model.error().message.empty(), "an error says something");
    return 0;
  }
  step(**model, *backend);
  return 0;
}
