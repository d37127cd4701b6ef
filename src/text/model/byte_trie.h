// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace o3::text {

// Texts by their bytes: which of them begin at a place. The edges are one open-addressing table of
// (node, byte) -> node.
class ByteTrie {
 public:
  ByteTrie();

  void reserve(size_t bytes);  // of all texts
  // Of equal texts the first one stays.
  void insert(std::string_view text, Token value);

  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t step(uint32_t node, char byte) const noexcept {
    const uint64_t wanted = key(node, byte);
    for (size_t slot = home(wanted);; slot = (slot + 1) & mask_) {
      if (edges_[slot].key == wanted) return edges_[slot].to;
      if (edges_[slot].key == kFree) return kNone;
    }
  }
  Token value(uint32_t node) const noexcept { return values_[node]; }  // -1: no text ends here

 private:
  struct Edge {
    uint64_t key = kFree;
    uint32_t to = 0;
  };
  static constexpr uint64_t kFree = UINT64_MAX;
  static uint64_t key(uint32_t node, char byte) noexcept {
    return static_cast<uint64_t>(node) << 8 | static_cast<uint8_t>(byte);
  }
  size_t home(uint64_t wanted) const noexcept {
    return static_cast<size_t>((wanted * 0x9E3779B97F4A7C15u) >> shift_);
  }
  void resize(size_t slots);
  void put(Edge edge) noexcept;

  std::vector<Edge> edges_;
  std::vector<Token> values_;
  size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace o3::text
