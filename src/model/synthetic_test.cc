// SPDX-License-Identifier: Apache-2.0
#include "model/synthetic.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "device/cpu/cpu_backend.h"
#include "model/load_model.h"

namespace o3::model {
namespace {

using device::DType;

std::string path_of(const char* name) {
  return testing::TempDir() + "/" + name;
}

TEST(Synthetic, MakesModelsThatLoad) {
  const auto backend = device::cpu::CpuBackend::create({.threads = 1});
  ASSERT_TRUE(backend.ok());
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
    const std::string path = path_of("synthetic.gguf");
    const auto written = write_synthetic("tiny", {.matrices = dtype, .head = DType::kF16}, path);
    ASSERT_TRUE(written.ok()) << written.error().message;
    auto file = artifact::GgufFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    const auto model =
        load_model(std::make_shared<const artifact::GgufFile>(*std::move(file)), **backend, {});
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_EQ((*model)->config().layers, 2);
    EXPECT_EQ((*model)->config().vocabulary, 320);
    std::remove(path.c_str());
  }
}

TEST(Synthetic, RefusesWhatItCannotMake) {
  EXPECT_EQ(write_synthetic("llama9", {}, path_of("no.gguf")).error().param, "shape");
  EXPECT_EQ(write_synthetic("tiny", {.matrices = DType::kQ4_K}, path_of("no.gguf")).error().param,
            "dtype");
}

}  // namespace
}  // namespace o3::model
