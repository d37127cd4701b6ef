// SPDX-License-Identifier: Apache-2.0
#include "api/page/assets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace o3::api {
namespace {

const Asset* find(std::string_view path) {
  const auto assets = page_assets();
  const auto it = std::ranges::find(assets, path, &Asset::path);
  return it == assets.end() ? nullptr : &*it;
}

std::string source(std::string_view name) {
  std::ifstream in(std::string(O3_SOURCE_DIR "/src/api/page/assets/") + std::string(name),
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(PageAssets, HoldTheBytesOfTheirFiles) {
  for (const Asset& asset : page_assets()) {
    const auto slash = asset.path.rfind('/');
    const std::string_view name = asset.path == "/" ? "index.html" : asset.path.substr(slash + 1);
    const std::string expected = source(name);
    ASSERT_FALSE(expected.empty()) << name;
    EXPECT_EQ(asset.bytes, expected) << asset.path;
  }
}

TEST(PageAssets, AreOrderedAndUniqueByPath) {
  const auto assets = page_assets();
  EXPECT_EQ(std::ranges::adjacent_find(assets, std::ranges::greater_equal{}, &Asset::path),
            assets.end());
}

TEST(PageAssets, CarryTypesAndStrongValidators) {
  ASSERT_NE(find("/"), nullptr);
  EXPECT_EQ(find("/")->content_type, "text/html; charset=utf-8");
  ASSERT_NE(find("/page/page.js"), nullptr);
  EXPECT_EQ(find("/page/page.js")->content_type, "text/javascript; charset=utf-8");
  for (const Asset& asset : page_assets()) {
    ASSERT_EQ(asset.etag.size(), 18U) << asset.path;
    EXPECT_EQ(asset.etag.front(), '"');
    EXPECT_EQ(asset.etag.back(), '"');
  }
  EXPECT_NE(find("/")->etag, find("/page/page.js")->etag);
}

// The page works under kPageSecurityPolicy only while it holds no inline script or style, and no
// address of another origin.
TEST(PageAssets, NeedNothingThePolicyForbids) {
  for (const Asset& asset : page_assets()) {
    for (const std::string_view forbidden :
         {" style=\"", "<style", " onclick=", " onload=", "innerHTML", "outerHTML", "eval(",
          "insertAdjacentHTML", "document.write", "data:image", "url("}) {
      EXPECT_EQ(asset.bytes.find(forbidden), std::string_view::npos)
          << asset.path << " holds " << forbidden;
    }
    for (size_t at = asset.bytes.find("://"); at != std::string_view::npos;
         at = asset.bytes.find("://", at + 1)) {
      // The SVG namespace is a name, never fetched.
      const std::string_view around = asset.bytes.substr(at > 4 ? at - 4 : 0, 30);
      EXPECT_NE(around.find("http://www.w3.org/2000/svg"), std::string_view::npos)
          << asset.path << ": " << around;
    }
  }
}

}  // namespace
}  // namespace o3::api
