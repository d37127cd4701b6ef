// SPDX-License-Identifier: Apache-2.0
#include "govern/key_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

#include "govern/durable_file.h"

namespace o3::govern {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class KeyStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("o3_keys_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path file() const { return folder_ / "keys.json"; }
  void put(const std::string& text, fs::perms mode = fs::perms(0600)) {
    fs::create_directories(folder_);
    std::ofstream(file()) << text;
    fs::permissions(file(), mode);
  }
  std::string refused() {
    const auto opened = KeyStore::open(folder_, clock_);
    return opened.ok() ? "accepted" : opened.error().message;
  }

  fs::path folder_;
  SystemClock clock_;
};

TEST_F(KeyStoreTest, MakesOneKeyWhenThereIsNoFileAndShowsItOnce) {
  const fs::path deep = folder_ / "a" / "b";
  const auto first = KeyStore::open(deep, clock_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  ASSERT_TRUE(first->new_key.has_value());
  const std::string key = first->new_key->reveal();
  EXPECT_EQ(key.size(), 46U);
  EXPECT_TRUE(key.starts_with("o3-"));
  EXPECT_EQ(
      key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
      std::string::npos);

  const std::string text = read(deep / "keys.json");
  EXPECT_EQ(text.find(key.substr(3)), std::string::npos) << "the key itself is kept";
  EXPECT_NE(text.find(KeyDigest::of(key).hex()), std::string::npos);
  EXPECT_EQ(fs::status(deep / "keys.json").permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(deep).permissions(), fs::perms(0700));
  EXPECT_EQ(std::distance(fs::directory_iterator(deep), {}), 1) << "a temporary file is left";

  const auto again = KeyStore::open(deep, clock_);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->new_key.has_value());
  const auto principal = again->store.find(key);
  ASSERT_TRUE(principal.has_value());
  EXPECT_EQ(principal->kind, PrincipalKind::kApiKey);
  EXPECT_EQ(principal->tenant, "default");
  EXPECT_EQ(principal->models, std::vector<std::string>{"*"});
}

TEST_F(KeyStoreTest, OnlyTheExactTextIsAKey) {
  const auto opened = KeyStore::open(folder_, clock_);
  const std::string key = opened->new_key->reveal();
  EXPECT_TRUE(opened->store.find(key).has_value());
  EXPECT_FALSE(opened->store.find("").has_value());
  EXPECT_FALSE(opened->store.find(key.substr(0, 45)).has_value());
  EXPECT_FALSE(opened->store.find(key + " ").has_value());
  EXPECT_FALSE(opened->store.find(KeyDigest::of(key).hex()).has_value()) << "pass the hash";
  EXPECT_FALSE(opened->store.find(std::string(1 << 20, 'a')).has_value());
}

TEST_F(KeyStoreTest, RefusesAFileThatOthersCanReadAndSaysHowToRepairIt) {
  for (const int mode : {0644, 0640, 0602, 0604}) {
    put(R"({"version":1,"keys":[]})", fs::perms(mode));
    EXPECT_NE(refused().find("run: chmod 600 " + file().string()), std::string::npos) << refused();
  }
  fs::permissions(file(), fs::perms(0600));
  EXPECT_EQ(refused(), "accepted");
  fs::permissions(folder_, fs::perms(0777));
  EXPECT_NE(refused().find("chmod go-w"), std::string::npos);
}

TEST_F(KeyStoreTest, NeverOverwritesADamagedFile) {
  for (const std::string& text : std::vector<std::string>{
           "", "{", "[]", "{}", R"({"version":2,"keys":[]})", R"({"version":1,"keys":{}})",
           R"({"version":1,"keys":[],"more":1})", R"({"version":1,"keys":[7]})",
           R"({"version":1,"keys":[]})" + std::string(1, '\0') + "{junk"}) {
    put(text);
    EXPECT_NE(refused().find("is not a valid key file"), std::string::npos) << text;
    EXPECT_EQ(read(file()), text);
  }
}

TEST_F(KeyStoreTest, NamesTheRowAndFieldThatIsWrong) {
  const std::string hex = KeyDigest::of("x").hex();
  const auto row = [&](const std::string& id, const std::string& sha, const std::string& more) {
    return R"({"id":")" + id + R"(","sha256":")" + sha +
           R"(","created":"2030-01-01T00:00:00Z","tenant":"t","models":["m"])" + more + "}";
  };
  const std::string good = row("a", hex, R"(,"class":"high")");
  const auto keys = [](const std::string& rows) {
    return R"({"version":1,"keys":[)" + rows + "]}";
  };
  const auto parsed = parse_keys(keys(good));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->front().request_class, RequestClass::kHigh);
  const auto message = [&](const std::string& rows) {
    const auto result = parse_keys(keys(rows));
    return result.ok() ? "accepted" : result.error().message;
  };
  EXPECT_NE(message(good + "," + row("b", "00", R"(,"class":"high")")).find("keys[1].sha256"),
            std::string::npos);
  EXPECT_NE(message(row("a", hex, R"(,"class":"urgent")")).find("keys[0].class"),
            std::string::npos);
  EXPECT_NE(message(row("a", hex, R"(,"class":"high","expires":"x")")).find("\"expires\""),
            std::string::npos);
  EXPECT_NE(message(good + "," + good).find("keys[1].id is used twice"), std::string::npos);
  EXPECT_EQ(render_keys(*parse_keys(render_keys(*parsed))), render_keys(*parsed));
}

TEST_F(KeyStoreTest, AmongServersThatStartTogetherOneMakesTheKey) {
  std::atomic<int> made{0};
  std::vector<std::thread> servers;
  servers.reserve(8);
  for (int i = 0; i < 8; ++i) {
    servers.emplace_back([&] {
      const auto opened = KeyStore::open(folder_, clock_);
      ASSERT_TRUE(opened.ok()) << opened.error().message;
      if (opened->new_key) made.fetch_add(1);
      EXPECT_EQ(opened->store.size(), 1U);
    });
  }
  for (std::thread& server : servers) server.join();
  EXPECT_EQ(made.load(), 1);
}

TEST_F(KeyStoreTest, AFileIsReplacedWholeOrNotAtAll) {
  fs::create_directories(folder_);
  ASSERT_TRUE(write_private_file(file(), "one", IfExists::kKeep).ok());
  const auto kept = write_private_file(file(), "two", IfExists::kKeep);
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().code, Code::kConflict);
  EXPECT_EQ(read(file()), "one");
  ASSERT_TRUE(write_private_file(file(), "two", IfExists::kReplace).ok());
  EXPECT_EQ(read(file()), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  EXPECT_FALSE(write_private_file(folder_ / "none" / "x", "y", IfExists::kReplace).ok());
  EXPECT_EQ(read_private_file(file(), 2).error().code, Code::kTooLong);
}

TEST_F(KeyStoreTest, ANewFileFindsItsPlaceWithoutARenameThatKeeps) {
  fs::create_directories(folder_);
  const auto put = [&](const std::string& name) {
    std::ofstream(folder_ / name) << name;
    return folder_ / name;
  };
  for (const auto rename : {RenameKeeping([](const char*, const char*) {
                              errno = EINVAL;  // NFS
                              return -1;
                            }),
                            RenameKeeping([](const char*, const char*) {
                              errno = ENOSYS;
                              return -1;
                            })}) {
    fs::remove(file());
    EXPECT_EQ(place_new_file(put("one"), file(), rename), 0);
    EXPECT_EQ(read(file()), "one");
    EXPECT_EQ(place_new_file(put("two"), file(), rename), -1);
    EXPECT_EQ(errno, EEXIST);
    EXPECT_EQ(read(file()), "one");
    fs::remove(folder_ / "two");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
  }
  const auto full = RenameKeeping([](const char*, const char*) {
    errno = ENOSPC;
    return -1;
  });
  EXPECT_EQ(place_new_file(put("two"), folder_ / "free", full), -1);
  EXPECT_FALSE(fs::exists(folder_ / "free"));
}

TEST(Credential, IsRandom) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) seen.insert(make_credential(kApiKeyPrefix)->reveal());
  EXPECT_EQ(seen.size(), 100U);
}

TEST(Credential, DigestIsSha256InHex) {
  const KeyDigest digest = KeyDigest::of("abc");
  EXPECT_EQ(digest.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(KeyDigest::from_hex(digest.hex())->same(digest));
  EXPECT_FALSE(KeyDigest::from_hex("BA" + digest.hex().substr(2)).has_value());
  for (size_t bit = 0; bit < 256; ++bit) {
    KeyDigest other = digest;
    other.bytes[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    EXPECT_FALSE(other.same(digest));
  }
}

}  // namespace
}  // namespace o3::govern
