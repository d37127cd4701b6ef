// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_file.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "artifact/gguf/ggml_type.h"
#include "artifact/gguf/gguf_writer.h"

namespace o3::artifact {
namespace {

using Bytes = std::vector<std::byte>;

// A file with every value type and three tensors.
class Sample {
 public:
  Sample() {
    writer_.add("general.architecture", "llama");
    writer_.add_scalar("u8", uint8_t{200});
    writer_.add_scalar("i8", int8_t{-100});
    writer_.add_scalar("u16", uint16_t{60000});
    writer_.add_scalar("i16", int16_t{-30000});
    writer_.add_scalar("u32", uint32_t{4000000000u});
    writer_.add_scalar("i32", int32_t{-2000000000});
    writer_.add_scalar("f32", 1.5F);
    writer_.add_scalar("bool", true);
    writer_.add_scalar("u64", std::numeric_limits<uint64_t>::max());
    writer_.add_scalar("i64", std::numeric_limits<int64_t>::min());
    writer_.add_scalar("f64", 0.1);
    writer_.add_array("strings", std::span<const std::string>(strings_));
    writer_.add_array("ints", std::span<const int32_t>(ints_));
    writer_.add_array("floats", std::span<const float>(floats_));
    writer_.add_array("none", std::span<const std::string>());
    const std::array<int64_t, 2> matrix{3, 64};
    const std::array<int64_t, 1> vector{5};
    const std::array<int64_t, 3> cube{2, 3, 4};
    writer_.add_tensor("quantised", device::DType::kQ4_1, matrix, data(120));
    writer_.add_tensor("vector", device::DType::kF32, vector, data(20));
    writer_.add_tensor("cube", device::DType::kF16, cube, data(48));
  }
  Bytes bytes() const { return writer_.build(); }
  GgufWriter& writer() { return writer_; }

 private:
  std::span<const std::byte> data(size_t bytes) const {
    return std::as_bytes(std::span(data_)).first(bytes);
  }
  std::vector<std::string> strings_{"", "one", std::string(300, 'x'), "\xE2\x82\xAC"};
  std::vector<int32_t> ints_{1, -2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<float> floats_{0.5F, -1.0F};
  std::array<float, 64> data_{1.0F, 2.0F, 3.0F};
  GgufWriter writer_;
};

Error error_of(const Bytes& bytes) {
  const auto file = GgufFile::parse(bytes, "t.gguf");
  return file.ok() ? Error{Code::kInternal, "accepted", {}} : file.error();
}

template <class T>
void put(Bytes& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Where the bytes of `text` end in the file.
size_t after(const Bytes& bytes, std::string_view text) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t at = all.find(text);
  EXPECT_NE(at, std::string_view::npos) << text;
  return at + text.size();
}

TEST(GgufFile, ReadsEveryValueType) {
  const Bytes bytes = Sample().bytes();
  const auto file = GgufFile::parse(bytes, "t.gguf");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->version(), 3u);
  EXPECT_EQ(file->metadata().size(), 16u);
  EXPECT_EQ(*file->required<std::string_view>("general.architecture"), "llama");
  EXPECT_EQ(*file->required<int32_t>("u8"), 200);
  EXPECT_EQ(*file->required<int64_t>("i8"), -100);
  EXPECT_EQ(*file->required<uint32_t>("u16"), 60000u);
  EXPECT_EQ(*file->required<int32_t>("i16"), -30000);
  EXPECT_EQ(*file->required<uint64_t>("u32"), 4000000000u);
  EXPECT_EQ(*file->required<int32_t>("i32"), -2000000000);
  EXPECT_EQ(*file->required<double>("f32"), 1.5);
  EXPECT_TRUE(*file->required<bool>("bool"));
  EXPECT_EQ(*file->required<uint64_t>("u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(*file->required<int64_t>("i64"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(*file->required<float>("f64"), 0.1F);
  const auto strings = *file->required<StringArray>("strings");
  EXPECT_EQ(strings.size(), 4u);
  EXPECT_EQ((std::vector<std::string_view>(strings.begin(), strings.end())),
            (std::vector<std::string_view>{"", "one", std::string(300, 'x'), "\xE2\x82\xAC"}));
  EXPECT_EQ(*file->required<std::vector<int32_t>>("ints"),
            (std::vector<int32_t>{1, -2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(*file->required<std::vector<float>>("floats"), (std::vector<float>{0.5F, -1.0F}));
  EXPECT_EQ(file->required<StringArray>("none")->size(), 0u);
}

TEST(GgufFile, AWrongTypeIsAnErrorThatSaysTheTypeFound) {
  const Bytes bytes = Sample().bytes();
  const auto file = GgufFile::parse(bytes, "t.gguf");
  ASSERT_TRUE(file.ok());
  const auto message = [](const auto& result) {
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  const auto number = file->required<int32_t>("general.architecture");
  EXPECT_NE(message(number).find("string"), std::string::npos);
  EXPECT_EQ(number.error().param, "general.architecture");
  EXPECT_NE(message(file->required<int32_t>("u32")).find("u32"), std::string::npos);  // too large
  EXPECT_NE(message(file->required<uint64_t>("i8")), "accepted");                     // negative
  EXPECT_NE(message(file->required<int32_t>("f32")), "accepted");
  EXPECT_NE(message(file->required<float>("u8")), "accepted");
  EXPECT_NE(message(file->required<bool>("u8")), "accepted");
  EXPECT_NE(message(file->required<std::string>("bool")), "accepted");
  EXPECT_NE(message(file->required<StringArray>("ints")).find("array of i32"), std::string::npos);
  EXPECT_NE(message(file->required<std::vector<int32_t>>("strings")), "accepted");
  EXPECT_NE(message(file->required<std::vector<int32_t>>("floats")), "accepted");
  EXPECT_NE(message(file->required<std::vector<uint32_t>>("ints")).find("element 1"),
            std::string::npos);
  EXPECT_FALSE(file->optional<int32_t>("general.architecture").ok());
  EXPECT_FALSE(file->optional<int32_t>("absent")->has_value());
  EXPECT_EQ(*file->optional<int32_t>("u8"), 200);
  EXPECT_EQ(file->required<int32_t>("absent").error().code, Code::kNotFound);
}

TEST(GgufFile, TensorsHavePyTorchShapes) {
  const Bytes bytes = Sample().bytes();
  auto parsed = GgufFile::parse(bytes, "t.gguf");
  ASSERT_TRUE(parsed.ok());
  const GgufFile file = *std::move(parsed);  // views survive a move
  const device::TensorView matrix = *file.tensor("quantised");
  EXPECT_EQ(matrix.rank, 2);
  EXPECT_EQ(matrix.rows(), 3);
  EXPECT_EQ(matrix.cols(), 64);
  EXPECT_EQ(matrix.row_stride, 40);
  const device::TensorView cube = *file.tensor("cube");
  EXPECT_EQ(cube.shape, (std::array<int64_t, 4>{2, 3, 4, 0}));
  EXPECT_EQ(cube.rows(), 6);
  EXPECT_EQ(*file.tensor("vector")->row<const float>(0), 1.0F);
  EXPECT_EQ(file.find_tensor("vector")->bytes, 20);
  EXPECT_EQ(file.find_tensor("vecto"), nullptr);
  EXPECT_EQ(file.tensor("absent").error().param, "absent");
}

TEST(GgufFile, AMissingTensorOfASplitModelSaysSo) {
  GgufWriter writer;
  writer.add_scalar("split.count", uint16_t{3});
  const Bytes bytes = writer.build();
  EXPECT_NE(GgufFile::parse(bytes, "t")->tensor("x").error().message.find("split into 3 files"),
            std::string::npos);
}

TEST(GgufFile, ReadsVersion2AndRefusesOthersByName) {
  Bytes bytes = Sample().bytes();
  const auto with_version = [&bytes](uint32_t version) {
    put(bytes, 4, version);
    return error_of(bytes);
  };
  EXPECT_EQ(with_version(2).message, "accepted");
  EXPECT_NE(with_version(1).message.find("version 1 is not supported"), std::string::npos);
  EXPECT_EQ(with_version(4).code, Code::kUnsupported);
  EXPECT_NE(with_version(0x03000000).message.find("big-endian"), std::string::npos);
  EXPECT_NE(with_version(0x01000000).message.find("big-endian"), std::string::npos);
  put(bytes, 0, 'g');
  EXPECT_NE(error_of(bytes).message.find("not a GGUF file"), std::string::npos);
}

TEST(GgufFile, RefusesDuplicates) {
  Sample keys;
  keys.writer().add_scalar("u8", uint8_t{1});
  EXPECT_NE(error_of(keys.bytes()).message.find("u8 appears twice"), std::string::npos);
  Sample tensors;
  const std::array<int64_t, 1> one{1};
  const float value = 0;
  tensors.writer().add_tensor("cube", device::DType::kF32, one,
                              std::as_bytes(std::span(&value, 1)));
  const Error error = error_of(tensors.bytes());
  EXPECT_NE(error.message.find("cube appears twice"), std::string::npos);
  EXPECT_EQ(error.param, "cube");
}

// Fields after a tensor's name: u32 rank, u64 ne[rank], u32 type, u64 offset.
TEST(GgufFile, RefusesBadTensorDescriptions) {
  const Bytes good = Sample().bytes();
  const size_t cube = after(good, "cube");
  const auto with = [&](size_t at, auto value) {
    Bytes bytes = good;
    put(bytes, at, value);
    return error_of(bytes);
  };
  EXPECT_NE(with(cube, uint32_t{0}).message.find("0 dimensions"), std::string::npos);
  EXPECT_NE(with(cube, uint32_t{5}).message.find("5 dimensions"), std::string::npos);
  EXPECT_NE(with(cube + 4, uint64_t{1} << 60).message.find("too large"), std::string::npos);
  EXPECT_NE(with(cube + 4, uint64_t{1} << 40).message.find("outside the file"), std::string::npos);
  EXPECT_NE(with(cube + 28, uint32_t{8}).message.find("multiple of 32"), std::string::npos);
  EXPECT_NE(with(cube + 32, uint64_t{0}).message.find("overlap"), std::string::npos);
  EXPECT_NE(with(cube + 32, uint64_t{7}).message.find("alignment"), std::string::npos);
  EXPECT_NE(with(cube + 32, uint64_t{1} << 62).message.find("outside the file"), std::string::npos);
  EXPECT_NE(with(cube + 32, ~uint64_t{31}).message.find("outside the file"), std::string::npos);
}

TEST(GgufFile, RefusesBadMetadata) {
  const Bytes good = Sample().bytes();
  const auto with = [&](size_t at, auto value) {
    Bytes bytes = good;
    put(bytes, at, value);
    return error_of(bytes);
  };
  const size_t flag = after(good, "bool");
  EXPECT_NE(with(flag, uint32_t{13}).message.find("unknown value type 13"), std::string::npos);
  EXPECT_NE(with(flag + 4, uint8_t{2}).message.find("neither 0 nor 1"), std::string::npos);
  const size_t ints = after(good, "ints");
  EXPECT_NE(with(ints + 4, uint32_t{9}).message.find("array of arrays"), std::string::npos);
  EXPECT_NE(with(ints + 4, uint32_t{99}).message.find("unknown value type"), std::string::npos);
  EXPECT_NE(with(ints + 8, uint64_t{1} << 62).message.find("ends inside"), std::string::npos);
  EXPECT_NE(with(ints + 4, uint32_t{7}).message.find("ints holds a bool"), std::string::npos);
  const size_t strings = after(good, "strings");
  EXPECT_NE(with(strings + 8, uint64_t{1} << 63).message.find("strings"), std::string::npos);
  EXPECT_NE(with(24, uint64_t{0}).message.find("key is empty"), std::string::npos);
  EXPECT_NE(with(24, uint64_t{70000}).message.find("at most 65535"), std::string::npos);
}

TEST(GgufFile, AlignmentIsAPowerOfTwoInBounds) {
  for (const uint32_t alignment : {0u, 1u, 4u, 12u, 48u, 1u << 21, 1u << 31}) {
    GgufWriter writer;
    writer.add_scalar("general.alignment", alignment);
    EXPECT_EQ(error_of(writer.build()).param, "general.alignment") << alignment;
  }
  GgufWriter writer(128);
  writer.add_scalar("general.alignment", uint32_t{128});
  const std::array<int64_t, 1> one{1};
  const float value = 4.0F;
  writer.add_tensor("a", device::DType::kF32, one, std::as_bytes(std::span(&value, 1)));
  writer.add_tensor("b", device::DType::kF32, one, std::as_bytes(std::span(&value, 1)));
  const Bytes bytes = writer.build();
  const auto file = GgufFile::parse(bytes, "t");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->find_tensor("b")->offset, 128u);
  EXPECT_EQ(*file->tensor("b")->row<const float>(0), 4.0F);
}

// Reads all that an accepted file offers; the sanitizer looks on.
void touch(const GgufFile& file) {
  size_t sum = 0;
  for (const GgufEntry& entry : file.metadata()) {
    for (const std::byte byte : entry.value.data) sum += std::to_integer<size_t>(byte);
    const auto strings = entry.value.as<StringArray>(entry.key);
    if (!strings.ok()) continue;
    for (const std::string_view text : *strings)
      sum += text.empty() ? 0 : text.size() + text.back();
  }
  EXPECT_NE(sum, 1u);  // only so that the reads happen
  for (const GgufTensor& tensor : file.tensors()) {
    EXPECT_GE(static_cast<int>(tensor.view.data[tensor.bytes - 1]), 0);
  }
}

TEST(GgufFile, CutAtEveryByte) {
  const Bytes good = Sample().bytes();
  const auto whole = GgufFile::parse(good, "t.gguf");
  const GgufTensor& last = whole->tensors().back();
  const auto end = static_cast<size_t>(last.view.data - good.data() + last.bytes);
  for (size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    const auto file = GgufFile::parse(cut, "t.gguf");
    ASSERT_EQ(file.ok(), size >= end) << size;  // only padding follows the last tensor
    if (file.ok()) {
      touch(*file);
    } else {
      ASSERT_EQ(file.error().code, Code::kInvalid) << file.error().message;
    }
  }
}

TEST(GgufFile, EveryPositionSetToExtremes) {
  const Bytes good = Sample().bytes();
  const auto try_with = [&](size_t at, auto value) {
    if (at + sizeof value > good.size()) return;
    Bytes bytes = good;
    put(bytes, at, value);
    const auto file = GgufFile::parse(bytes, "t.gguf");
    if (file.ok()) touch(*file);
  };
  const auto whole = GgufFile::parse(good, "t.gguf");
  const auto structure = static_cast<size_t>(whole->tensors()[0].view.data - good.data());
  for (size_t at = 0; at < structure; ++at) {
    for (const uint64_t value :
         {uint64_t{0}, uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 62,
          (uint64_t{1} << 63) - 1, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{31}}) {
      try_with(at, value);
    }
    for (const uint32_t value : {0u, 8u, 9u, 1u << 31, ~0u}) try_with(at, value);
    for (const uint8_t value : {0, 1, 32, 127, 128, 255}) try_with(at, value);
  }
}

TEST(GgufFile, ManyEntriesAnnouncedInASmallFileAllocateNothing) {
  Bytes bytes = GgufWriter().build();
  put(bytes, 16, uint64_t{1} << 20);
  EXPECT_NE(error_of(bytes).message.find("metadata entries"), std::string::npos);
  put(bytes, 16, uint64_t{0});
  put(bytes, 8, (uint64_t{1} << 63) - 1);
  EXPECT_NE(error_of(bytes).message.find("tensors, more than"), std::string::npos);
}

TEST(GgufFile, HostileNamesAreEscapedInMessages) {
  GgufWriter writer;
  const std::string name = "\x1b[2J\n" + std::string(500, 'k');
  writer.add_scalar(name, uint8_t{1});
  writer.add_scalar(name, uint8_t{1});
  const Error error = error_of(writer.build());
  EXPECT_NE(error.message.find("\\x1b[2J\\x0a"), std::string::npos);
  EXPECT_LT(error.message.size(), 300u);
}

TEST(GgmlType, EveryDTypeHasItsNumber) {
  for (int i = 0; i <= static_cast<int>(device::DType::kIQ4_NL); ++i) {
    const auto dtype = static_cast<device::DType>(i);
    EXPECT_EQ(dtype_from_ggml(ggml_from_dtype(dtype)), dtype);
  }
  EXPECT_EQ(ggml_from_dtype(device::DType::kBF16), 30u);
  EXPECT_EQ(ggml_from_dtype(device::DType::kI8), 24u);
  EXPECT_EQ(ggml_type_name(39), "MXFP4");
  EXPECT_EQ(ggml_type_name(40), "");
}

// What no kernel reads hinders nobody until it is asked for.
TEST(Gguf, UnreadTensorsAreSetAside) {
  const Bytes good = Sample().bytes();
  const size_t cube = after(good, "cube");
  const auto unread = [&](size_t at, auto value) {
    Bytes bytes = good;
    put(bytes, at, value);
    const auto file = GgufFile::parse(bytes, "t.gguf");
    EXPECT_TRUE(file.ok()) << file.error().message;
    if (!file.ok() || file->unread().size() != 1) return UnreadTensor{};
    EXPECT_EQ(file->tensors().size(), 2U);
    EXPECT_EQ(file->find_tensor("cube"), nullptr);
    return file->unread()[0];
  };
  const UnreadTensor unknown = unread(cube + 28, uint32_t{77});
  EXPECT_EQ(unknown.name, "cube");
  EXPECT_EQ(unknown.type, "type 77");
  EXPECT_EQ(unknown.shape, (std::vector<int64_t>{2, 3, 4}));
  EXPECT_NE(unknown.problem.find("has an unknown type (number 77)"), std::string::npos);
  EXPECT_FALSE(unknown.weightless);
  EXPECT_NE(unread(cube + 28, uint32_t{16}).problem.find("IQ2_XXS"), std::string::npos);
  EXPECT_NE(unread(cube + 28, uint32_t{4}).problem.find("unknown type (number 4)"),
            std::string::npos);                             // removed from ggml
  EXPECT_TRUE(unread(cube + 28, uint32_t{27}).weightless);  // I64
  const UnreadTensor empty = unread(cube + 4, uint64_t{0});
  EXPECT_EQ(empty.shape, (std::vector<int64_t>{2, 3, 0}));
  EXPECT_NE(empty.problem.find("is empty"), std::string::npos);
  EXPECT_TRUE(empty.weightless);
}

TEST(Gguf, UnreadTensorsCountAsNames) {
  GgufWriter writer;
  const std::array<int64_t, 1> nothing{0};
  writer.add_tensor("same", device::DType::kF32, nothing, {});
  writer.add_tensor("same", device::DType::kF32, nothing, {});
  EXPECT_NE(error_of(writer.build()).message.find("tensor same appears twice"), std::string::npos);
}

}  // namespace
}  // namespace o3::artifact
