// SPDX-License-Identifier: Apache-2.0
// A JSON document of tokenizer.json's size (tens of megabytes, most of it two flat lists) as a flat
// array of nodes over the text: a general document object would cost more time and memory than the
// tokenizer that is made of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace o3::text {

class JsonTree;

// One value; views the tree. Reading a value as another kind gives nothing.
class JsonValue {
 public:
  JsonValue(const JsonTree& tree, uint32_t node) : tree_(&tree), node_(node) {}

  enum class Kind : uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };
  Kind kind() const noexcept;
  bool is_null() const noexcept { return kind() == Kind::kNull; }
  bool is_array() const noexcept { return kind() == Kind::kArray; }
  bool is_object() const noexcept { return kind() == Kind::kObject; }
  std::optional<bool> boolean() const noexcept;
  std::optional<double> number() const noexcept;
  std::optional<int64_t> integer() const noexcept;  // written without fraction and exponent
  std::optional<std::string_view> string() const noexcept;

  size_t size() const noexcept;                                        // of an array or object
  std::string_view key() const noexcept;                               // of a member of an object
  std::optional<JsonValue> find(std::string_view key) const noexcept;  // the first such member

  // Elements or members in order.
  class Iterator {
   public:
    Iterator(const JsonTree& tree, uint32_t node) : tree_(&tree), node_(node) {}
    JsonValue operator*() const { return {*tree_, node_}; }
    Iterator& operator++();
    bool operator==(const Iterator&) const = default;

   private:
    const JsonTree* tree_;
    uint32_t node_;
  };
  Iterator begin() const noexcept;
  Iterator end() const noexcept;

 private:
  const JsonTree* tree_;
  uint32_t node_;
};

class JsonTree {
 public:
  // RFC 8259, strict; `text` must outlive the tree. kInvalid gives the byte position. At most 1 GiB
  // of text, 64 levels and 2^25 values.
  static Result<JsonTree> parse(std::string_view text);

  JsonValue root() const { return {*this, 0}; }

 private:
  friend class JsonValue;
  friend class JsonTreeParser;

  struct Text {
    uint32_t at = 0;  // in text_ or, with the top bit, in unescaped_
    uint32_t bytes = 0;
  };
  struct Node {
    JsonValue::Kind kind = JsonValue::Kind::kNull;
    uint32_t after = 0;  // the node behind this one and all that is in it
    Text key;
    Text text;  // string or number; of a container: bytes is the number of members
  };
  static constexpr uint32_t kUnescaped = 1u << 31;

  std::string_view view(Text text) const noexcept {
    return (text.at & kUnescaped) != 0
               ? std::string_view(unescaped_).substr(text.at & ~kUnescaped, text.bytes)
               : text_.substr(text.at, text.bytes);
  }

  std::string_view text_;
  std::string unescaped_;
  std::vector<Node> nodes_;  // in the order of the text
};

}  // namespace o3::text
