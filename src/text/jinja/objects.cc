// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/objects.h"

#include <algorithm>

#include "text/jinja/operators.h"

namespace o3::text::jinja {
namespace {

Value missing() {
  return Value::undefined("");
}

Value bound(Object* self, const Builtin& method) {
  return Value(std::make_shared<const BoundMethod>(BoundMethod{Value(self), &method}));
}

Result<Value> cycler_next(Call& call) {
  return static_cast<Cycler*>(call.self.as_object())->next();
}
Result<Value> cycler_reset(Call& call) {
  static_cast<Cycler*>(call.self.as_object())->reset();
  return Value();
}
Result<Value> loop_cycle(Call& call) {
  return static_cast<LoopContext*>(call.self.as_object())->cycle(call);
}
Result<Value> loop_changed(Call& call) {
  return static_cast<LoopContext*>(call.self.as_object())->changed(call);
}

constexpr Builtin kCyclerNext{"next", "", 0, &cycler_next};
constexpr Builtin kCyclerReset{"reset", "", 0, &cycler_reset};
constexpr Builtin kLoopCycle{"cycle", "*", 0, &loop_cycle};
constexpr Builtin kLoopChanged{"changed", "*", 0, &loop_changed};

}  // namespace

Result<Value> Namespace::attribute(std::string_view name) {
  for (const auto& [key, value] : items_) {
    if (key.is_string() && key.as_string().view() == name) return value;
  }
  return missing();
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [key, old] : items_) {
    if (key.is_string() && key.as_string().view() == name) {
      old = std::move(value);
      return;
    }
  }
  items_.emplace_back(Value::trusted(name), std::move(value));
}

Value Cycler::next() {
  Value value = items_[position_];
  position_ = (position_ + 1) % items_.size();
  return value;
}

Result<Value> Cycler::attribute(std::string_view name) {
  if (name == "next") return bound(this, kCyclerNext);
  if (name == "reset") return bound(this, kCyclerReset);
  if (name == "current") return items_[position_];
  return missing();
}

Result<Value> Joiner::attribute(std::string_view /*name*/) {
  return missing();
}

Result<Value> Joiner::call(Call& call) {
  if (!call.positional.empty() || !call.named.empty()) {
    return invalid("a joiner takes no arguments");
  }
  if (used_) return separator_;
  used_ = true;
  return Value(TaintedString());
}

Result<bool> LoopContext::draw(std::optional<Value>& into) {
  into.reset();
  if (drawing_) return invalid("a loop's filter uses that loop's items");
  while (position_ < source_->items.size()) {
    Value candidate = source_->items[position_++];
    bool taken = true;
    if (accept_) {
      drawing_ = true;
      const Result<bool> accepted = accept_(candidate);
      drawing_ = false;
      O3_ASSIGN(taken, accepted);
    }
    if (taken) {
      into = std::move(candidate);
      return true;
    }
  }
  return false;
}

Result<bool> LoopContext::peek() {
  if (after_) return true;
  return draw(after_);
}

Result<bool> LoopContext::advance() {
  O3_ASSIGN(const bool more, peek());
  if (!more) return false;
  before_ = std::move(current_);
  current_ = std::exchange(after_, std::nullopt);
  ++index0_;
  return true;
}

void LoopContext::end() {
  source_ = std::make_shared<const Sequence>();
  position_ = 0;
  accept_ = nullptr;
  recurse_ = nullptr;
}

Result<Value> LoopContext::call(Call& call) {
  if (call.positional.size() != 1 || !call.named.empty()) {
    return invalid("loop() takes one argument");
  }
  if (!recurse_) {
    return invalid("The loop must have the 'recursive' marker to be called recursively.");
  }
  const Recurse again = recurse_;  // the loop may end while it runs
  return again(call.positional[0]);
}

// With a filter, the rest of the items must be drawn to be counted.
Result<int64_t> LoopContext::length() {
  if (length_) return *length_;
  if (!accept_) {
    length_ = static_cast<int64_t>(source_->items.size());
    return *length_;
  }
  auto rest = std::make_shared<Sequence>();
  std::optional<Value> item;
  while (true) {
    O3_ASSIGN(const bool more, draw(item));
    if (!more) break;
    rest->items.push_back(*item);
  }
  length_ = static_cast<int64_t>(rest->items.size()) + index0_ + 1 + (after_ ? 1 : 0);
  source_ = std::move(rest);
  position_ = 0;
  accept_ = nullptr;
  return *length_;
}

Result<std::optional<Value>> LoopContext::counted(std::string_view name) {
  if (name == "index0") return std::optional<Value>(Value(index0_));
  if (name == "index") return std::optional<Value>(Value(index0_ + 1));
  if (name == "first") return std::optional<Value>(Value(index0_ == 0));
  if (name == "depth0") return std::optional<Value>(Value(static_cast<int64_t>(depth0_)));
  if (name == "depth") return std::optional<Value>(Value(static_cast<int64_t>(depth0_ + 1)));
  if (name == "last") {
    O3_ASSIGN(const bool more, peek());
    return std::optional<Value>(Value(!more));
  }
  if (name != "length" && name != "revindex" && name != "revindex0") return std::optional<Value>();
  O3_ASSIGN(const int64_t count, length());
  if (name == "length") return std::optional<Value>(Value(count));
  return std::optional<Value>(Value(count - index0_ - (name == "revindex0" ? 1 : 0)));
}

Result<Value> LoopContext::attribute(std::string_view name) {
  O3_ASSIGN(std::optional<Value> number, counted(name));
  if (number) return *std::move(number);
  if (name == "previtem") {
    return before_ ? *before_ : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    O3_ASSIGN(const bool more, peek());
    return more ? *after_ : Value::undefined("there is no next item");
  }
  if (name == "cycle") return bound(this, kLoopCycle);
  if (name == "changed") return bound(this, kLoopChanged);
  return missing();
}

Result<Value> LoopContext::cycle(Call& call) const {
  if (call.positional.empty() || !call.named.empty()) return invalid("no items for cycling given");
  const auto count = static_cast<int64_t>(call.positional.size());
  return call.positional[static_cast<size_t>(std::max<int64_t>(index0_, 0) % count)];
}

Result<Value> LoopContext::changed(Call& call) {
  bool same = changed_ && changed_->size() == call.positional.size();
  for (size_t i = 0; same && i < call.positional.size(); ++i) {
    O3_ASSIGN(same, equal(*call.state, (*changed_)[i], call.positional[i]));
  }
  changed_ = call.positional;
  return Value(!same);
}

}  // namespace o3::text::jinja
