// SPDX-License-Identifier: Apache-2.0
// The stateful values of the template language.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/call.h"

namespace o3::text::jinja {

// namespace(...): the only thing that `{% set a.b = ... %}` can change.
class Namespace final : public Object {
 public:
  explicit Namespace(std::vector<std::pair<Value, Value>> items) : items_(std::move(items)) {}
  std::string_view type_name() const noexcept override { return "Namespace"; }
  Result<Value> attribute(std::string_view name) override;
  uint64_t attribute_cost(std::string_view name) const noexcept override {
    return items_.size() / 8 * (1 + name.size() / 64);
  }
  void set(std::string_view name, Value value);
  const std::vector<std::pair<Value, Value>>& items() const noexcept { return items_; }

 private:
  std::vector<std::pair<Value, Value>> items_;
};

// Hugging Face keeps names with a leading underscore out of namespaces.
Result<void> check_member_name(std::string_view name);

// cycler(a, b, ...)
class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items) : items_(std::move(items)) {}
  std::string_view type_name() const noexcept override { return "Cycler"; }
  Result<Value> attribute(std::string_view name) override;
  Value next();
  void reset() noexcept { position_ = 0; }

 private:
  std::vector<Value> items_;  // never empty
  size_t position_ = 0;
};

// joiner(separator): "" at its first call, the separator afterwards.
class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string_view type_name() const noexcept override { return "Joiner"; }
  Result<Value> attribute(std::string_view name) override;
  Result<Value> call(Call& call) override;
  bool is_callable() const noexcept override { return true; }

 private:
  Value separator_;
  bool used_ = false;
};

// The items of a `for`, drawn one by one (a filter may depend on what the body did), and `loop`.
class LoopContext final : public Object {
 public:
  using Accept = std::function<Result<bool>(const Value&)>;
  using Recurse = std::function<Result<Value>(const Value& items)>;

  // accept: the loop's `if`, or empty. recurse: what loop(items) gives, empty unless the loop is
  // recursive. end() must be called before what they refer to dies.
  LoopContext(SequencePtr source, Accept accept, Recurse recurse, int depth0)
      : source_(std::move(source)),
        accept_(std::move(accept)),
        recurse_(std::move(recurse)),
        depth0_(depth0) {}

  Result<bool> advance();  // false: no further item
  const Value& current() const { return *current_; }
  void end();
  int depth0() const noexcept { return depth0_; }

  std::string_view type_name() const noexcept override { return "LoopContext"; }
  Result<Value> attribute(std::string_view name) override;
  Result<Value> call(Call& call) override;
  bool is_callable() const noexcept override { return true; }
  Result<Value> cycle(Call& call) const;
  Result<Value> changed(Call& call);

 private:
  Result<bool> draw(std::optional<Value>& into);
  Result<bool> peek();  // true: after_ holds the next item
  Result<int64_t> length();
  Result<std::optional<Value>> counted(std::string_view name);

  SequencePtr source_;
  Accept accept_;
  Recurse recurse_;
  bool drawing_ = false;
  int depth0_;
  size_t position_ = 0;
  int64_t index0_ = -1;
  std::optional<int64_t> length_;
  std::optional<Value> before_;
  std::optional<Value> current_;
  std::optional<Value> after_;
  std::optional<std::vector<Value>> changed_;
};

}  // namespace o3::text::jinja
