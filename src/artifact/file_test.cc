// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "artifact/mapped_file.h"
#include "artifact/safetensors/safetensors_set.h"
#include "artifact/sha256.h"

namespace o3::artifact {
namespace {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ("o3_file_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::ofstream(directory_ / name, std::ios::binary) << content;
    return directory_ / name;
  }
  std::filesystem::path directory_;
};

TEST_F(FileTest, MapsTheWholeFile) {
  auto opened = MappedFile::open(write("a", "hello"));
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  MappedFile map = *std::move(opened);
  const MappedFile moved = std::move(map);
  ASSERT_EQ(moved.bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(moved.bytes()[4]), 'o');
}

TEST_F(FileTest, OpenErrorsSayWhatIsWrong) {
  const auto error = [](const std::filesystem::path& path) {
    const auto opened = MappedFile::open(path);
    return opened.ok() ? Error{Code::kInternal, "opened", {}} : opened.error();
  };
  EXPECT_EQ(error(directory_ / "absent").code, Code::kNotFound);
  EXPECT_NE(error(directory_ / "absent").message.find("No such file"), std::string::npos);
  EXPECT_EQ(error(write("file", "x") / "below").code, Code::kNotFound);
  EXPECT_EQ(error(directory_).code, Code::kInvalid);
  EXPECT_NE(error(directory_).message.find("is a directory"), std::string::npos);
  EXPECT_NE(error(write("empty", "")).message.find("is empty"), std::string::npos);
  EXPECT_NE(error("/dev/null").message.find("not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error(directory_ / "pipe").code, Code::kInvalid);  // and does not wait for a writer
}

TEST_F(FileTest, Sha256OfBytesAndFiles) {
  // FIPS 180-4 examples.
  const auto digest = [](std::string_view text) {
    return hex(*sha256(std::as_bytes(std::span(text))));
  };
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const std::string large(3 * 1024 * 1024 + 5, 'a');
  const auto of_file = sha256_file(write("large", large));
  ASSERT_TRUE(of_file.ok());
  EXPECT_EQ(hex(*of_file), digest(large));
  EXPECT_EQ(sha256_file(directory_ / "absent").error().code, Code::kNotFound);
}

// Not the same as absent.
namespace fs = std::filesystem;

TEST(IsThere, LinksThatLeadNowhereAreTold) {
  const fs::path directory =
      fs::path(testing::TempDir()) / ("o3_is_there_" + std::to_string(::getpid()));
  fs::create_directories(directory);
  EXPECT_EQ(*is_there(directory), true);
  EXPECT_EQ(*is_there(directory / "nothing"), false);
  EXPECT_EQ(*is_there(directory / "nothing/below"), false);
  fs::create_symlink("nowhere/at-all", directory / "link");
  for (const Error& error :
       {is_there(directory / "link").error(), MappedFile::open(directory / "link").error()}) {
    EXPECT_EQ(error.code, Code::kInvalid);
    EXPECT_NE(error.message.find("link is a link to nowhere/at-all, which is not there"),
              std::string::npos)
        << error.message;
  }
  fs::create_symlink("gone", directory / "model.safetensors");
  EXPECT_NE(SafetensorsSet::open(directory).error().message.find("link to gone"),
            std::string::npos);
  fs::remove_all(directory);
}

}  // namespace
}  // namespace o3::artifact
