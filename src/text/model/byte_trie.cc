// SPDX-License-Identifier: Apache-2.0
#include "text/model/byte_trie.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace o3::text {

ByteTrie::ByteTrie() : values_{-1} {
  resize(16);
}

void ByteTrie::reserve(size_t bytes) {
  resize(std::bit_ceil(std::max(bytes, edges_.size())));
}

void ByteTrie::resize(size_t slots) {
  const std::vector<Edge> before = std::exchange(edges_, std::vector<Edge>(slots));
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
  for (const Edge& edge : before) {
    if (edge.key != kFree) put(edge);
  }
}

void ByteTrie::put(Edge edge) noexcept {
  size_t slot = home(edge.key);
  while (edges_[slot].key != kFree) slot = (slot + 1) & mask_;
  edges_[slot] = edge;
}

void ByteTrie::insert(std::string_view text, Token value) {
  uint32_t node = kRoot;
  for (const char byte : text) {
    uint32_t next = step(node, byte);
    if (next == kNone) {
      if (values_.size() * 2 > edges_.size()) resize(edges_.size() * 2);
      next = static_cast<uint32_t>(values_.size());
      put({key(node, byte), next});
      values_.push_back(-1);
    }
    node = next;
  }
  if (values_[node] < 0) values_[node] = value;
}

}  // namespace o3::text
