// SPDX-License-Identifier: Apache-2.0
#include "loader/loaded_model.h"

#include <gtest/gtest.h>

#include <string>

#include "artifact/gguf/gguf_writer.h"
#include "device/cpu/cpu_backend.h"
#include "model/testing/test_directory.h"

namespace o3::loader {
namespace {

// Whatever else such a file has that is not known: a tokenizer, tensors, types.
TEST(LoadedModel, AnotherArchitectureIsRefusedWithTheKnownOnes) {
  const model::ScratchDirectory scratch("loaded_architecture");
  const auto backend = device::cpu::CpuBackend::create({.threads = 1});
  ASSERT_TRUE(backend.ok());
  for (const char* architecture : {"t5", "bert", "mamba", "gpt2", "llama4", "Llama", ""}) {
    artifact::GgufWriter writer;
    writer.add("general.architecture", architecture);
    writer.add("tokenizer.ggml.model", "t5");
    const auto path = scratch.path() / "m.gguf";
    ASSERT_TRUE(writer.write(path).ok());
    const auto loaded = load_model_file(path, **backend, {});
    ASSERT_FALSE(loaded.ok()) << architecture;
    EXPECT_EQ(loaded.error().code, Code::kUnsupported);
    EXPECT_EQ(loaded.error().message,
              "model architecture \"" + std::string(architecture) +
                  "\" is not known to this build; it knows: llama, qwen2, qwen3, gemma3");
  }
}

}  // namespace
}  // namespace o3::loader
