// SPDX-License-Identifier: Apache-2.0
// Variables of a render: a stack of scopes that see each other through parent links.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "text/jinja/value.h"

namespace o3::text::jinja {

// Names are views of the syntax tree or of the render's input, which both outlive it.
class ScopeStack {
 public:
  // Names a scope even after it was left (and its slot used again).
  struct Handle {
    size_t index;
    uint64_t serial;
  };

  ScopeStack() { push(0); }  // the root, its own parent

  size_t current() const noexcept { return current_; }
  Handle handle() const noexcept { return {current_, scopes_[current_].serial}; }
  bool alive(Handle handle) const noexcept {
    return handle.index < used_ && scopes_[handle.index].serial == handle.serial;
  }

  void set(std::string_view name, Value value) {
    for (auto& [known, old] : scopes_[current_].variables) {
      if (known != name) continue;
      old = std::move(value);
      return;
    }
    scopes_[current_].variables.emplace_back(name, std::move(value));
  }

  const Value* find(std::string_view name) const noexcept {
    for (size_t at = current_;; at = scopes_[at].parent) {
      for (const auto& [known, value] : scopes_[at].variables) {
        if (known == name) return &value;
      }
      if (at == 0) return nullptr;
    }
  }

  // Opens a scope for its own lifetime.
  class Guard {
   public:
    Guard(ScopeStack& stack, size_t parent) : stack_(&stack), before_(stack.current_) {
      stack.push(parent);
    }
    ~Guard() { stack_->pop(before_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    ScopeStack* stack_;
    size_t before_;
  };

 private:
  struct Scope {
    size_t parent = 0;
    uint64_t serial = 0;
    std::vector<std::pair<std::string_view, Value>> variables;
  };

  void push(size_t parent) {
    if (used_ == scopes_.size()) scopes_.emplace_back();
    scopes_[used_].parent = parent;
    scopes_[used_].serial = ++serial_;
    current_ = used_++;
  }
  void pop(size_t before) {
    O3_CHECK(used_ > 1, "the root scope stays");
    scopes_[--used_].variables.clear();
    current_ = before;
  }

  std::vector<Scope> scopes_;
  size_t used_ = 0;
  size_t current_ = 0;
  uint64_t serial_ = 0;
};

}  // namespace o3::text::jinja
