// SPDX-License-Identifier: Apache-2.0
#include "artifact/safetensors/safetensors_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace o3::artifact {
namespace {

using device::DType;

std::vector<std::byte> file_of(const std::string& header, size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (size_t at = 0; at < data_bytes; ++at) {
    bytes[8 + header.size() + at] = static_cast<std::byte>(at);
  }
  return bytes;
}

Error refusal(const std::vector<std::byte>& bytes) {
  const auto file = SafetensorsFile::parse(bytes, "t");
  EXPECT_FALSE(file.ok());
  return file.ok() ? Error{} : file.error();
}
Error refusal(const std::string& header, size_t data_bytes) {
  return refusal(file_of(header, data_bytes));
}

const std::string kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[8,32]},)"
    R"("a":{"shape":[4],"dtype":"BF16","data_offsets":[0,8]},)"
    R"("s":{"dtype":"F16","shape":[],"data_offsets":[32,34]}}   )";

TEST(Safetensors, ViewsPointIntoTheFile) {
  const auto bytes = file_of(kGood, 34);
  const auto file = SafetensorsFile::parse(bytes, "t");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 3U);
  const SafeTensor* b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->view.dtype, DType::kF32);
  EXPECT_EQ(b->view.rank, 2);
  EXPECT_EQ(b->view.rows(), 2);
  EXPECT_EQ(b->view.cols(), 3);
  EXPECT_EQ(b->view.row_stride, 12);
  EXPECT_EQ(b->bytes, 24);
  EXPECT_EQ(b->view.data, bytes.data() + 8 + kGood.size() + 8);
  EXPECT_EQ(file->find("a")->view.dtype, DType::kBF16);
  EXPECT_EQ(file->find("s")->view.rank, 0);
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_EQ(file->find("__metadata__"), nullptr);
}

TEST(Safetensors, EveryCutIsRefused) {
  const auto bytes = file_of(kGood, 34);
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(refusal({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}).code,
              Code::kInvalid)
        << length;
  }
}

TEST(Safetensors, HostileLengthsAreRefused) {
  for (const uint64_t length : {uint64_t{INT64_MAX}, UINT64_MAX, uint64_t{1} << 32U}) {
    auto bytes = file_of(kGood, 34);
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_EQ(refusal(bytes).code, Code::kInvalid);
  }
  for (const char* number : {"9223372036854775807", "18446744073709551615", "4294967296"}) {
    const std::string n(number);
    for (const std::string& header :
         {R"({"a":{"dtype":"F32","shape":[)" + n + R"(],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"F32","shape":[)" + n + "," + n + R"(],"data_offsets":[0,4]}})",
          R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,)" + n + "]}}",
          R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[)" + n + ",4]}}"}) {
      EXPECT_EQ(refusal(header, 4).code, Code::kInvalid) << header;
    }
  }
}

// As a model of a thousand tensors has it: a header of more than 64 KiB.
struct Large {
  Large() {
    for (int i = 0; i < 1000; ++i) {
      header += i == 0 ? "{" : ",";
      header += R"("model.layers.)";
      header += std::to_string(i);
      header += R"(.weight":{"dtype":"F16","shape":[4,8],"data_offsets":[)";
      header += std::to_string(i * 64);
      header += ",";
      header += std::to_string((i + 1) * 64);
      header += "]}";
    }
    header += "}";
  }
  static constexpr size_t kDataBytes = 64000;
  std::string header;
};

TEST(Safetensors, CutAtEvery4KiBIsRefused) {
  const Large large;
  const auto bytes = file_of(large.header, Large::kDataBytes);
  ASSERT_TRUE(SafetensorsFile::parse(bytes, "t").ok());
  ASSERT_GT(large.header.size(), 65536U);
  for (size_t at = 0; at < bytes.size(); at += 4096) {
    const Error error = refusal({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at)});
    EXPECT_EQ(error.code, Code::kInvalid) << at << ": " << error.message;
  }
}

TEST(Safetensors, EveryNumberSetToTheLargest) {
  const Large large;
  const std::string text = large.header.substr(0, large.header.find(R"(,"model.layers.24.)")) + "}";
  const size_t data = size_t{24} * 64;
  ASSERT_TRUE(SafetensorsFile::parse(file_of(text, data), "t").ok());
  size_t numbers = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    const bool number = end > at && (text[at - 1] == '[' || text[at - 1] == ',');
    if (number) {
      ++numbers;
      const std::string hostile = text.substr(0, at) + "9223372036854775807" + text.substr(end);
      EXPECT_EQ(refusal(hostile, data).code, Code::kInvalid) << hostile;
    }
    at = std::max(end, at + 1);
  }
  EXPECT_GT(numbers, 80U);
}

TEST(Safetensors, OverlapsHolesAndLeftoversAreRefused) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"F16","shape":[2],"data_offsets":)" + first +
           R"(},"b":{"dtype":"F16","shape":[2],"data_offsets":)" + second + "}}";
  };
  EXPECT_TRUE(SafetensorsFile::parse(file_of(two("[0,4]", "[4,8]"), 8), "t").ok());
  EXPECT_NE(refusal(two("[0,4]", "[2,6]"), 6).message.find("must begin at 4"), std::string::npos);
  EXPECT_NE(refusal(two("[0,4]", "[6,10]"), 10).message.find("must begin at 4"), std::string::npos);
  EXPECT_NE(refusal(two("[0,4]", "[4,8]"), 9).message.find("behind its last"), std::string::npos);
  EXPECT_EQ(refusal(two("[0,4]", "[0,4]"), 4).code, Code::kInvalid);
  EXPECT_EQ(refusal(two("[4,0]", "[4,8]"), 8).code, Code::kInvalid);
}

TEST(Safetensors, HeadersOfAnotherFormAreRefused) {
  for (const char* header :
       {"",
        "[]",
        "5",
        "{",
        "{}x",
        R"({"a":5})",
        R"({"a":"x"})",
        R"({"a":[]})",
        R"({"a":null})",
        R"({"a":{}})",
        R"({"a":{"dtype":"F32","shape":[1]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})",
        R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})",
        R"({"a":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1],"more":1,"data_offsets":[0,4]}})",
        R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
        R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
        R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
        R"({"__metadata__":{"a":1}})",
        R"({"__metadata__":{"a":{}}})",
        R"({"__metadata__":"a"})",
        R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})"}) {
    const size_t data = std::string(header).find("[4,8]") == std::string::npos ? 4 : 8;
    const Error error = refusal(header, data);
    EXPECT_EQ(error.code, Code::kInvalid) << header << ": " << error.message;
  }
  const std::string deep(100000, '[');
  EXPECT_EQ(refusal(R"({"a":{"shape":)" + deep, 0).code, Code::kInvalid);
}

TEST(Safetensors, UnreadTensorsAreSetAside) {
  const auto bytes = file_of(R"({"w\u001b":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]},
      "a":{"dtype":"F32","shape":[0,3],"data_offsets":[4,4]},
      "b":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[4,8]},
      "ids":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},
      "x":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}})",
                             20);
  const auto file = SafetensorsFile::parse(bytes, "test");
  ASSERT_TRUE(file.ok()) << file.error().message;
  ASSERT_EQ(file->tensors().size(), 1U);
  ASSERT_EQ(file->unread().size(), 4U);
  const auto& [empty, deep, ids, narrow] =
      std::tie(file->unread()[0], file->unread()[1], file->unread()[2], file->unread()[3]);
  EXPECT_EQ(empty.problem, "is empty");
  EXPECT_TRUE(empty.weightless);
  EXPECT_NE(deep.problem.find("more than 4 dimensions"), std::string::npos);
  EXPECT_FALSE(deep.weightless);
  EXPECT_TRUE(ids.weightless);
  EXPECT_EQ(narrow.problem, "has type F8_E4M3; F32, F16 and BF16 would work");
  EXPECT_FALSE(narrow.weightless);
}

TEST(Safetensors, WhatEmptyTensorsCannotBe) {
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}})", 4).code,
            Code::kInvalid);
  EXPECT_EQ(refusal(R"({"a":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},
                        "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                    4)
                .code,
            Code::kInvalid);
}

}  // namespace
}  // namespace o3::artifact
