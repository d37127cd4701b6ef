// SPDX-License-Identifier: Apache-2.0
// Every tensor of a real file of many types, where it is present.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "artifact/sha256.h"
#include "base/testing/model_file.h"
#include "kernels/elementwise.h"

namespace o3::model {
namespace {

std::string digest_of(const device::TensorView& tensor) {
  const int64_t cols = tensor.cols();
  std::vector<float> values(static_cast<size_t>(tensor.rows() * cols));
  for (int64_t row = 0; row < tensor.rows(); ++row) {
    kernels::dequantize_row(tensor.dtype, tensor.row<const std::byte>(row),
                            values.data() + row * cols, cols);
  }
  return artifact::hex(*artifact::sha256(std::as_bytes(std::span(values))));
}

// `tools/golden/dequantize.py --model` wrote the digests: the same floats, bit for bit, as gguf-py.
TEST(DequantizeModel, GemmaAgreesWithGgufPy) {
  const auto path = o3::testing::model_file("gemma-3-270m-q4_k_m.gguf");
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is absent: ./dev model gemma-3-270m fetches it";
  }
  const auto file = artifact::GgufFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message;
  std::ifstream golden(O3_SOURCE_DIR "/tests/golden/kernels/gemma-3-270m-q4_k_m.txt");
  std::string name;
  std::string type;
  std::string digest;
  size_t tensors = 0;
  while (golden >> name >> type >> digest) {
    const auto tensor = file->tensor(name);
    ASSERT_TRUE(tensor.ok()) << tensor.error().message;
    EXPECT_EQ(device::traits(tensor->dtype).name, type) << name;
    EXPECT_EQ(digest_of(*tensor), digest) << name << " " << type;
    ++tensors;
  }
  EXPECT_EQ(tensors, file->tensors().size());
  EXPECT_EQ(tensors, 236U);
}

}  // namespace
}  // namespace o3::model
