// SPDX-License-Identifier: Apache-2.0
#include "govern/key_admin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "govern/durable_file.h"
#include "govern/live_keys.h"

namespace o3::govern {
namespace {

namespace fs = std::filesystem;

class KeyAdminTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("o3_admin_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file() const { return folder_ / "keys.json"; }
  AddedKey add(const NewKey& wanted) {
    auto added = add_key(folder_, wanted, clock_);
    EXPECT_TRUE(added.ok()) << added.error().message;
    return *std::move(added);
  }

  fs::path folder_;
  SystemClock clock_;
};

TEST_F(KeyAdminTest, AddedKeysAreFoundWithWhatTheyCarry) {
  const AddedKey one = add({.id = "ward-7", .tenant = "clinic", .models = {"small", "large"}});
  const AddedKey two = add({.tenant = "lab", .request_class = RequestClass::kLow});
  EXPECT_TRUE(two.row.id.starts_with("key-"));
  const auto opened = KeyStore::open(folder_, clock_);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_FALSE(opened->new_key) << "there are keys: none is made up";
  const auto who = opened->store.find(one.text.reveal());
  ASSERT_TRUE(who);
  EXPECT_EQ(who->id, "svc:ward-7");
  EXPECT_EQ(who->tenant, "clinic");
  EXPECT_EQ(who->request_class, RequestClass::kNormal);
  EXPECT_EQ(who->models, (std::vector<std::string>{"small", "large"}));
  EXPECT_EQ(opened->store.find(two.text.reveal())->request_class, RequestClass::kLow);
  EXPECT_EQ(fs::status(file()).permissions(), fs::perms(0600));
  std::ifstream in(file());
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text.find(one.text.reveal()), std::string::npos);
}

TEST_F(KeyAdminTest, ARevokedKeyIsGoneAndTheOthersStay) {
  const AddedKey one = add({.id = "a"});
  const AddedKey two = add({.id = "b"});
  EXPECT_EQ(revoke_key(folder_, "c").error().code, Code::kNotFound);
  ASSERT_TRUE(revoke_key(folder_, "a").ok());
  EXPECT_EQ(revoke_key(folder_, "a").error().code, Code::kNotFound);
  const auto rows = read_keys(file());
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().id, "b");
  ASSERT_TRUE(revoke_key(folder_, "b").ok());
  EXPECT_FALSE(KeyStore::open(folder_, clock_)->new_key) << "no key is a state, not a first start";
}

TEST_F(KeyAdminTest, WhatTheFileCouldNotHoldIsRefusedAndNothingChanges) {
  add({.id = "a"});
  EXPECT_EQ(add_key(folder_, {.id = "a"}, clock_).error().code, Code::kConflict);
  EXPECT_FALSE(add_key(folder_, {.id = std::string(300, 'x')}, clock_).ok());
  EXPECT_FALSE(add_key(folder_, {.tenant = ""}, clock_).ok());
  for (const char* wrong : {"\xff", "a b", "a\nb", "*", "\x1b[2J"}) {
    EXPECT_EQ(add_key(folder_, {.id = wrong}, clock_).error().param, "id");
    EXPECT_EQ(add_key(folder_, {.tenant = wrong}, clock_).error().param, "tenant");
  }
  EXPECT_EQ(add_key(folder_, {.models = {"a", "b c"}}, clock_).error().param, "model");
  EXPECT_EQ(read_keys(file())->size(), 1U);
  std::ofstream(file()) << "{";
  EXPECT_FALSE(add_key(folder_, {.id = "b"}, clock_).ok());
  EXPECT_FALSE(revoke_key(folder_, "a").ok());
  EXPECT_EQ(fs::file_size(file()), 1U) << "a damaged file is left as it is";
  EXPECT_EQ(revoke_key(folder_ / "none", "a").error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

// Another program's file would stay as it is, with the revoked key in it.
TEST_F(KeyAdminTest, ALinkIsNotReplaced) {
  add({.id = "a"});
  const fs::path real = folder_ / "real.json";
  fs::rename(file(), real);
  fs::create_symlink(real, file());
  const auto revoked = revoke_key(folder_, "a");
  ASSERT_FALSE(revoked.ok());
  EXPECT_NE(revoked.error().message.find("link"), std::string::npos);
  EXPECT_FALSE(add_key(folder_, {.id = "b"}, clock_).ok());
  fs::remove(real);
  EXPECT_FALSE(add_key(folder_, {.id = "b"}, clock_).ok()) << "it leads nowhere";
  EXPECT_TRUE(fs::is_symlink(file()));
}

TEST_F(KeyAdminTest, NoneIsLostWhenManyAddAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) EXPECT_TRUE(add_key(folder_, {}, clock_).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_keys(file())->size(), 32U);
}

TEST_F(KeyAdminTest, ARunningServerNoticesChanges) {
  const AddedKey one = add({.id = "a"});
  auto opened = KeyStore::open(folder_, clock_);
  LiveKeys keys(std::move(opened->store), opened->file);
  ASSERT_TRUE(keys.refresh().ok());
  EXPECT_FALSE(*keys.refresh()) << "nothing has changed";
  const AddedKey two = add({.id = "b"});
  EXPECT_FALSE(keys.find(two.text.reveal()));
  EXPECT_TRUE(*keys.refresh());
  EXPECT_TRUE(keys.find(two.text.reveal()));
  ASSERT_TRUE(revoke_key(folder_, "a").ok());
  EXPECT_TRUE(*keys.refresh());
  EXPECT_FALSE(keys.find(one.text.reveal()));
}

TEST_F(KeyAdminTest, AFileThatCannotBeReadChangesNothing) {
  const AddedKey one = add({.id = "a"});
  auto opened = KeyStore::open(folder_, clock_);
  LiveKeys keys(std::move(opened->store), opened->file);
  ASSERT_TRUE(keys.refresh().ok());
  std::ofstream(file()) << "not json";
  EXPECT_FALSE(keys.refresh().ok());
  EXPECT_TRUE(keys.refresh().ok()) << "told once";
  EXPECT_TRUE(keys.find(one.text.reveal()));
  // What repairs it is noticed, also where it leaves the bytes as they are.
  ASSERT_TRUE(write_private_file(file(), render_keys({}), IfExists::kReplace).ok());
  fs::permissions(file(), fs::perms(0644));
  EXPECT_FALSE(keys.refresh().ok());
  EXPECT_TRUE(keys.find(one.text.reveal()));
  fs::permissions(file(), fs::perms(0600));
  EXPECT_TRUE(*keys.refresh());
  EXPECT_FALSE(keys.find(one.text.reveal()));
  const AddedKey again = add({.id = "b"});
  EXPECT_TRUE(*keys.refresh());
  fs::remove(file());
  EXPECT_FALSE(keys.refresh().ok());
  EXPECT_TRUE(keys.refresh().ok());
  EXPECT_TRUE(keys.find(again.text.reveal()));
  const AddedKey two = add({.id = "c"});
  EXPECT_TRUE(*keys.refresh());
  EXPECT_FALSE(keys.find(again.text.reveal()));
  EXPECT_TRUE(keys.find(two.text.reveal()));
}

}  // namespace
}  // namespace o3::govern
