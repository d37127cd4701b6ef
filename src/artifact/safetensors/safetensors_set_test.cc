// SPDX-License-Identifier: Apache-2.0
#include "artifact/safetensors/safetensors_set.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "artifact/safetensors/safetensors_writer.h"

namespace o3::artifact {
namespace {

namespace fs = std::filesystem;
using device::DType;

class SafetensorsDirectory : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  std::vector<RowTensor> three() const {
    const auto bytes = std::as_bytes(std::span(values_));
    return {row_tensor("a", DType::kBF16, {3, 1}, bytes.first(6)),
            row_tensor("b", DType::kF32, {2, 2}, bytes), row_tensor("c", DType::kF32, {4}, bytes)};
  }
  void text(const std::string& name, const std::string& content) const {
    std::ofstream(directory_ / name) << content;
  }
  void index(const std::string& map) const {
    text("model.safetensors.index.json", R"({"metadata":{},"weight_map":{)" + map + "}}");
  }
  Error refusal() const {
    const auto set = SafetensorsSet::open(directory_);
    EXPECT_FALSE(set.ok());
    return set.ok() ? Error{} : set.error();
  }

  std::vector<float> values_{1, 2, 3, 4};
  fs::path directory_ = fs::path(testing::TempDir()) / ("o3_set_" + std::to_string(::getpid()));
};

TEST_F(SafetensorsDirectory, OneFileOrShards) {
  for (const int64_t most : {1000, 16}) {
    const auto written = write_safetensors_set(directory_, three(), most);
    ASSERT_TRUE(written.ok()) << written.error().message;
    EXPECT_EQ(written->bytes, 38U);
    const auto set = SafetensorsSet::open(directory_);
    ASSERT_TRUE(set.ok()) << set.error().message;
    EXPECT_EQ(set->files(), most == 16 ? 3U : 1U);
    ASSERT_EQ(set->tensors().size(), 3U);
    EXPECT_EQ(set->tensors()[0]->name, "a");
    EXPECT_EQ(set->find("b")->view.row<const float>(1)[0], 3.0F);
    EXPECT_EQ(set->find("c")->view.dtype, DType::kF32);
    EXPECT_EQ(set->find("d"), nullptr);
    TearDown();
    SetUp();
  }
}

TEST_F(SafetensorsDirectory, WithoutWeightsSaysWhatWouldWork) {
  const Error error = refusal();
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_NE(error.message.find("model.safetensors.index.json"), std::string::npos);
}

TEST_F(SafetensorsDirectory, ShardsStayInTheDirectory) {
  for (const char* name : {"../m.safetensors", "/etc/m.safetensors", "x/m.safetensors", "",
                           ".m.safetensors", "m.bin", "..", "m.safetensors\\u0000"}) {
    index(R"("a":")" + std::string(name) + '"');
    const Error error = refusal();
    EXPECT_EQ(error.code, Code::kInvalid) << name;
    EXPECT_NE(error.message.find("beside the index"), std::string::npos) << error.message;
  }
  index(R"("a":5)");
  EXPECT_EQ(refusal().code, Code::kInvalid);
}

TEST_F(SafetensorsDirectory, TheIndexMustBeRight) {
  ASSERT_TRUE(write_safetensors(directory_ / "m.safetensors", three(), Overwrite::kNo).ok());
  index(R"("a":"m.safetensors","b":"m.safetensors")");
  EXPECT_NE(refusal().message.find("holds c, which the index does not list"), std::string::npos);
  index(R"("a":"m.safetensors","b":"m.safetensors","c":"m.safetensors","d":"m.safetensors")");
  EXPECT_NE(refusal().message.find("lacks d"), std::string::npos);
  index(R"("a":"m.safetensors","b":"m.safetensors","c":"n.safetensors")");
  EXPECT_NE(refusal().message.find("holds c, which the index says is in n.safetensors"),
            std::string::npos);
  index(R"("a":"k.safetensors")");
  EXPECT_EQ(refusal().code, Code::kNotFound);
  for (const char* bad : {"", "[]", "{", R"({"weight_map":[]})", R"({"weight_map":{}})"}) {
    text("model.safetensors.index.json", bad);
    EXPECT_EQ(refusal().code, Code::kInvalid) << bad;
  }
}

TEST_F(SafetensorsDirectory, AFifoIsNoShard) {
  ASSERT_EQ(::mkfifo((directory_ / "m.safetensors").c_str(), 0600), 0);
  index(R"("a":"m.safetensors")");
  EXPECT_EQ(refusal().code, Code::kInvalid);
}

}  // namespace
}  // namespace o3::artifact
