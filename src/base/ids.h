// SPDX-License-Identifier: Apache-2.0
// Strong identifiers and the words that engine and governance share (they never see each other).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace o3 {

// A number that cannot be mixed up with another kind of number.
template <class Tag, class Rep = uint64_t>
struct Id {
  Rep value{};
  auto operator<=>(const Id&) const = default;
};

using RequestId = Id<struct RequestTag>;
using Token = int32_t;  // index into a model's vocabulary

// Scheduling class of a request (spec A12); the engine orders by it, keys carry it.
enum class RequestClass : uint8_t { kCritical, kHigh, kNormal, kLow };

// What two requests must share before one may reuse the other's KV pages (design section 4).
struct CacheDomain {
  std::string tenant;
  uint64_t model_revision = 0;
  uint64_t policy = 0;  // cache policy class
  std::string salt{};   // of the request (vLLM's cache_salt): narrows whom it shares with
  auto operator<=>(const CacheDomain&) const = default;
};

// How an accepted request ended; each ends in exactly one.
enum class Outcome : uint8_t {
  kStop,       // end-of-sequence or stop token (stop strings end a choice as kStop too)
  kLength,     // max_tokens or context reached
  kCancelled,  // client gone, asked to stop, or shutdown
  kDeadline,
  kError,
};

}  // namespace o3

template <class Tag, class Rep>
struct std::hash<o3::Id<Tag, Rep>> {
  size_t operator()(const o3::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
