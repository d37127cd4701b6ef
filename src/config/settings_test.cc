// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "config/live.h"
#include "config/serve_settings.h"
#include "config/snapshot.h"

namespace o3::config {
namespace {

constexpr Setting kPort{"net.port", Kind::kInt, "8080", {0, 65535}, "port"};
constexpr Setting kSize{"size", Kind::kBytes, "64KiB", {1024, 1 << 30}, "size"};
constexpr Setting kWait{"wait", Kind::kMillis, "10s", {1, 60000}, "time", Reload::kLive};
constexpr Setting kShare{"share", Kind::kReal, "0.5", {0, 1}, "share"};
constexpr Setting kOn{"on", Kind::kFlag, "false", {}, "flag"};
constexpr Setting kName{"name", Kind::kText, "octopus", {1, 8}, "name"};
constexpr Setting kPass{"pass",           Kind::kText, "secret-default", {8, 64}, "password",
                        Reload::kRestart, true};
constexpr Setting kHosts{"hosts", Kind::kList, "", {0, 2}, "names"};
constexpr std::array kTable{kPort, kSize, kWait, kShare, kOn, kName, kPass, kHosts};

class Settings : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  std::string refused(const std::string& yaml) {
    const auto loaded = Snapshot::load(kTable, file(yaml), {});
    return loaded.ok() ? "accepted" : loaded.error().message;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  const std::filesystem::path path_ = std::filesystem::path(testing::TempDir()) /
                                      ("o3_settings_" + std::to_string(::getpid()) + ".yaml");
};

Result<Snapshot> with(const std::vector<Override>& given) {
  return Snapshot::load(kTable, std::nullopt, given);
}

TEST_F(Settings, FileOverridesDefaultsAndFlagsOverrideTheFile) {
  const auto loaded = Snapshot::load(kTable,
                                     file("net:\n  port: 9000\nsize: 2 MiB\nwait: 250ms\n"
                                          "share: 0.25\non: true\nhosts: [a, b]\n"),
                                     {{"wait", "2s", "--wait"}, {"hosts", "c", "--hosts"}});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->integer(kPort), 9000);
  EXPECT_EQ(loaded->integer(kSize), 2 << 20);
  EXPECT_EQ(loaded->millis(kWait).count(), 2000);
  EXPECT_EQ(loaded->real(kShare), 0.25);
  EXPECT_TRUE(loaded->flag(kOn));
  EXPECT_EQ(loaded->text(kName), "octopus");
  EXPECT_EQ(loaded->list(kHosts), std::vector<std::string>{"c"});
  EXPECT_EQ(loaded->origin(kWait), "--wait");
  EXPECT_EQ(loaded->origin(kPort), path_.string() + ":2");
  EXPECT_EQ(loaded->origin(kName), "default");
}

TEST_F(Settings, ErrorsNameTheSettingItsLineAndWhatIsAllowed) {
  EXPECT_EQ(refused("on: true\nnet:\n  prot: 1\n"),
            path_.string() + ":3: there is no setting \"net.prot\"; did you mean \"net.port\"?");
  EXPECT_EQ(refused("net: {port: 70000}\n"),
            path_.string() + ":1: net.port must be a whole number in 0..65535, not \"70000\"");
  EXPECT_EQ(refused("\nsize: 12 parsecs\n"),
            path_.string() +
                ":2: size must be a size in 1KiB..1GiB (KiB, MiB, GiB; KB, MB, GB), not "
                "\"12 parsecs\"");
  EXPECT_EQ(refused("wait: 10\n"), path_.string() +
                                       ":1: wait must be a time in 1ms..1m with its unit (ms, s, "
                                       "m, h), not \"10\"");
  EXPECT_EQ(refused("on: 1\non: true\n"), path_.string() + ":2: \"on\" is already set in line 1");
  EXPECT_NE(refused("hosts: [a, b, c]\n").find("hosts must have 0..2 items, not 3"),
            std::string::npos);
  EXPECT_NE(refused("name: [a, b]\n").find("name is given twice"), std::string::npos);
}

TEST_F(Settings, RefusesDocumentsThatAreNotAMapOfPlainValues) {
  for (const std::string yaml :
       {"- a\n", "just text\n", "on:\n", "on: {a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}}\n",
        "hosts: [[a]]\n", "? [a]\n: 1\n", "a: &x {b: *x}\n", "on: \"\n", "\t- x: [\n"}) {
    EXPECT_NE(refused(yaml), "accepted") << yaml;
    EXPECT_NE(refused(yaml).find(path_.string() + ":"), std::string::npos) << refused(yaml);
  }
  EXPECT_EQ(refused(""), "accepted");
  EXPECT_EQ(refused("# nothing set\n"), "accepted");
  EXPECT_FALSE(Snapshot::load(kTable, "/nonexistent/o3.yaml", {}).ok());
}

TEST_F(Settings, RefusesWhatOneOfTwoReadersWouldNotSee) {
  using std::string_literals::operator""s;
  for (const std::string& yaml :
       {"on: true\n\0"s, "on\0x: true\n"s, "# a\0\non: true\n"s, "name: a\0b\n"s}) {
    EXPECT_NE(refused(yaml).find("a NUL byte"), std::string::npos) << refused(yaml);
  }
  EXPECT_TRUE(refused("on: true\nname: a\0b\n"s).starts_with(path_.string() + ":2: "));
  for (const std::string yaml :
       {"\"on\\0x\": true\n", "\"o\\nn\": true\n", "name: \"a\\0b\"\n", "hosts: [\"a\\x00b\"]\n"}) {
    EXPECT_NE(refused(yaml).find("control character"), std::string::npos) << refused(yaml);
    EXPECT_EQ(refused(yaml).find('\0'), std::string::npos) << "the message would end there";
  }
  for (const std::string yaml : {"on: true\n---\nname: b\n", "---\non: true\n---\n",
                                 "on: true\n...\nname: b\n", "---\n---\non: true\n"}) {
    EXPECT_NE(refused(yaml).find("one document"), std::string::npos) << yaml << refused(yaml);
  }
  EXPECT_EQ(refused("---\non: true\n...\n"), "accepted");
  EXPECT_EQ(refused("%YAML 1.2\n---\non: true\n"), "accepted");
}

TEST_F(Settings, RefusesAFileThatCannotBeRead) {
  const auto folder = Snapshot::load(kTable, testing::TempDir(), {});
  ASSERT_FALSE(folder.ok());
  EXPECT_NE(folder.error().message.find(testing::TempDir()), std::string::npos);
  EXPECT_NE(folder.error().message.find("a directory"), std::string::npos);
  const auto memory = Snapshot::load(kTable, "/proc/self/mem", {});
  ASSERT_FALSE(memory.ok()) << "it opens, but its first byte cannot be read";
  EXPECT_NE(memory.error().message.find("/proc/self/mem"), std::string::npos);
  EXPECT_FALSE(Snapshot::load(kTable, "", {}).ok());
}

TEST_F(Settings, BoundsAreInclusiveAndFormsAreExact) {
  EXPECT_TRUE(with({{"net.port", "65535", "-p"}}).ok());
  for (const std::string_view text : {"65536", "-1", "1.0", "1e3", "0x10", "", " 1", "1 "}) {
    EXPECT_FALSE(with({{"net.port", std::string(text), "-p"}}).ok()) << text;
  }
  EXPECT_EQ(with({{"size", "2048", "-s"}})->integer(kSize), 2048);
  EXPECT_EQ(with({{"size", "2KB", "-s"}})->integer(kSize), 2000);
  for (const std::string_view text : {"1023", "2gib", "9999999999999TiB", "-1KiB", "1.5KiB"}) {
    EXPECT_FALSE(with({{"size", std::string(text), "-s"}}).ok()) << text;
  }
  for (const std::string_view text : {"1.1", "nan", "inf", "-0.1", "half"}) {
    EXPECT_FALSE(with({{"share", std::string(text), "-s"}}).ok()) << text;
  }
  EXPECT_FALSE(with({{"name", "", "-n"}}).ok());
  EXPECT_FALSE(with({{"on", "yes", "--on"}}).ok());
}

TEST_F(Settings, SecretsAreNeverRepeated) {
  const auto loaded = with({{"pass", "hunter2", "--pass"}});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message.find("hunter2"), std::string::npos);
  EXPECT_EQ(show(kPass, with({{"pass", "longer-hunter2", "--pass"}})->value(kPass)), "(secret)");
}

TEST_F(Settings, ShownValuesReadBackEqual) {
  const auto loaded = with({{"size", "3MB", "-s"}, {"wait", "1500ms", "-w"}, {"share", "0.1", ""}});
  for (const Setting& row : kTable) {
    if (row.secret || row.kind == Kind::kList) continue;
    const auto again = parse_value(row, show(row, loaded->value(row)));
    ASSERT_TRUE(again.ok()) << row.name;
    EXPECT_EQ(*again, loaded->value(row)) << row.name;
  }
}

TEST_F(Settings, ALiveChangeIsANewEpochAndNeverTouchesRowsThatNeedARestart) {
  Live live(*with({}));
  const Epoch first = live.current();
  EXPECT_EQ(*live.replace(*with({{"wait", "1s", "reload"}})), 2U);
  EXPECT_EQ(first.settings->millis(kWait).count(), 10000);
  EXPECT_EQ(live.current().settings->millis(kWait).count(), 1000);
  const auto refused_change = live.replace(*with({{"net.port", "1", "o3.yaml:3"}}));
  ASSERT_FALSE(refused_change.ok());
  EXPECT_EQ(refused_change.error().code, Code::kConflict);
  EXPECT_EQ(refused_change.error().param, "net.port");
  EXPECT_EQ(live.current().number, 2U);
}

TEST_F(Settings, EveryServeDefaultIsInsideItsBounds) {
  const auto loaded = Snapshot::load(serve::kRows, std::nullopt, {});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->text(serve::kHost), "127.0.0.1");
  EXPECT_EQ(loaded->integer(serve::kBodyBytes), 4 << 20);
}

}  // namespace
}  // namespace o3::config
