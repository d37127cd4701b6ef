// SPDX-License-Identifier: Apache-2.0
#include "artifact/output_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

namespace o3::artifact {
namespace {

namespace fs = std::filesystem;

class Output : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(directory_); }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path at(const char* name) const { return directory_ / name; }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  fs::path directory_ = fs::path(testing::TempDir()) / ("o3_out_" + std::to_string(::getpid()));
};

Result<void> write(const fs::path& path, std::string_view text, Overwrite overwrite) {
  O3_ASSIGN(OutputFile file, OutputFile::create(path, overwrite));
  O3_TRY(file.write(text));
  return file.commit();
}

TEST_F(Output, AppearsWithCommit) {
  auto file = OutputFile::create(at("a"), Overwrite::kNo);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("one").ok());
  EXPECT_FALSE(fs::exists(at("a")));
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(read(at("a")), "one");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Output, WithoutCommitNothingIsLeft) {
  { ASSERT_TRUE(OutputFile::create(at("a"), Overwrite::kNo)->write("one").ok()); }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Output, NeverReplacesWhatIsNotAFile) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", at("link"));
  fs::create_directory(at("directory"));
  for (const char* name : {"pipe", "link", "directory"}) {
    const auto refused = OutputFile::create(at(name), Overwrite::kYes);
    ASSERT_FALSE(refused.ok()) << name;
    const char* says = name == std::string("link") ? "is a link" : "not a regular file";
    EXPECT_NE(refused.error().message.find(says), std::string::npos) << name;
  }
  ASSERT_TRUE(write(at("file"), "one", Overwrite::kNo).ok());
  EXPECT_FALSE(OutputDirectory::create(at("file"), Overwrite::kYes).ok());
  EXPECT_EQ(entries(), 4U);
}

// Neither the link nor what it points to is what the name was meant for.
TEST_F(Output, LinksAreNotReplaced) {
  fs::create_directory(at("directory"));
  ASSERT_TRUE(write(at("directory") / "f", "kept", Overwrite::kNo).ok());
  fs::create_symlink("directory", at("to_directory"));
  fs::create_symlink("directory/f", at("to_file"));
  fs::create_symlink("nowhere", at("dangling"));
  for (const char* name : {"to_directory", "to_directory/", "to_file", "dangling"}) {
    for (const auto& error : {OutputDirectory::create(at(name), Overwrite::kYes).error(),
                              OutputFile::create(at("dangling"), Overwrite::kYes).error()}) {
      EXPECT_EQ(error.code, Code::kInvalid) << name;
      EXPECT_NE(error.message.find("is a link"), std::string::npos) << error.message;
    }
    EXPECT_EQ(OutputDirectory::create(at(name), Overwrite::kNo).error().code, Code::kConflict);
  }
  EXPECT_EQ(read(at("directory") / "f"), "kept");
  EXPECT_EQ(entries(), 4U);
}

TEST_F(Output, WhatKilledProcessesLeftIsRemoved) {
  for (const char* name : {"a.7-0.partial", "a.7-1.partial"}) std::ofstream(at(name)) << "left";
  fs::create_directory(at("a.99-0.partial"));
  std::ofstream(at("a.99-0.partial") / "inside") << "left";
  // Not ours, or somebody's who still writes.
  for (const char* name : {"ab.7-0.partial", "a.7-0.partial.old", "a.mine.partial", "a..partial"}) {
    std::ofstream(at(name)) << "kept";
  }
  fs::create_symlink("ab.7-0.partial", at("a.8-0.partial"));
  auto first = OutputFile::create(at("a"), Overwrite::kNo);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(entries(), 6U);
  auto second = OutputFile::create(at("a"), Overwrite::kNo);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(entries(), 7U);
  ASSERT_TRUE(first->write("one").ok());
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(read(at("a")), "one");
  auto directory = OutputDirectory::create(at("d"), Overwrite::kNo);
  ASSERT_TRUE(directory.ok());
  auto other = OutputDirectory::create(at("d"), Overwrite::kNo);
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(fs::exists(directory->path()));
  ASSERT_TRUE(directory->commit().ok());
}

TEST_F(Output, StopsWhenToldTo) {
  bool going = true;
  {
    auto file = OutputFile::create(at("a"), Overwrite::kNo, [&going] { return going; });
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write(std::string(3U << 20U, 'x')).ok());
    going = false;
    EXPECT_EQ(file->write(std::string(3U << 20U, 'x')).error().code, Code::kCancelled);
    EXPECT_EQ(file->commit().error().code, Code::kCancelled);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Output, OverwritesOnlyWhenToldTo) {
  ASSERT_TRUE(write(at("a"), "one", Overwrite::kNo).ok());
  const auto refused = write(at("a"), "two", Overwrite::kNo);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(read(at("a")), "one");
  ASSERT_TRUE(write(at("a"), "two", Overwrite::kYes).ok());
  EXPECT_EQ(read(at("a")), "two");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Output, AFileThatCameMeanwhileIsNotOverwritten) {
  auto file = OutputFile::create(at("a"), Overwrite::kNo);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(write(at("a"), "other", Overwrite::kNo).ok());
  EXPECT_EQ(file->commit().error().code, Code::kConflict);
  EXPECT_EQ(read(at("a")), "other");
}

// A limit on the size of files stands in for a full disk.
TEST_F(Output, AFullDiskLeavesNothing) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{.rlim_cur = 64 << 10, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto written = write(at("a"), std::string(256 << 10, 'x'), Overwrite::kNo);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::kUnavailable) << written.error().message;
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Output, DirectoriesToo) {
  {
    auto left = OutputDirectory::create(at("d"), Overwrite::kNo);
    ASSERT_TRUE(left.ok());
    ASSERT_TRUE(write(left->path() / "f", "x", Overwrite::kNo).ok());
  }
  EXPECT_EQ(entries(), 0U);
  for (const auto& [text, overwrite] :
       {std::pair("one", Overwrite::kNo), std::pair("two", Overwrite::kYes)}) {
    auto made = OutputDirectory::create(at("d/"), overwrite);
    ASSERT_TRUE(made.ok()) << made.error().message;
    ASSERT_TRUE(write(made->path() / text, text, Overwrite::kNo).ok());
    ASSERT_TRUE(made->commit().ok());
    EXPECT_EQ(read(at("d") / text), text);
    EXPECT_EQ(entries(), 1U);
  }
  EXPECT_FALSE(fs::exists(at("d") / "one"));
  EXPECT_EQ(OutputDirectory::create(at("d"), Overwrite::kNo).error().code, Code::kConflict);
}

}  // namespace
}  // namespace o3::artifact
