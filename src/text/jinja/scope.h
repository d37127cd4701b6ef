// SPDX-License-Identifier: Apache-2.0
// Variables of a render: a stack of scopes that see each other through parent links.
#pragma once

#include <cstdint>
#include <map>
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

  void set(std::string_view name, Value value) { scopes_[current_].set(name, std::move(value)); }

  struct Found {
    const Value* value;  // null: no scope has the name
    size_t scopes;       // looked into
  };
  Found find(std::string_view name) const noexcept {
    size_t walked = 1;
    for (size_t at = current_;; at = scopes_[at].parent, ++walked) {
      const Value* value = scopes_[at].find(name);
      if (value != nullptr || at == 0) return {value, walked};
    }
  }
  // Steps (see RenderLimits) that set(), or looking into so many scopes, costs.
  static uint64_t cost(std::string_view name, size_t scopes = 1) noexcept {
    return scopes / 4 + scopes * (name.size() / 64);
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
  // A few variables are compared one by one; more are found by a tree, whose work nobody's choice
  // of names can make long.
  struct Scope {
    size_t parent = 0;
    uint64_t serial = 0;
    std::vector<std::pair<std::string_view, Value>> variables;
    std::map<std::string_view, size_t> index;  // of all variables, once there are more than kFew

    const Value* find(std::string_view name) const noexcept {
      const size_t at = place(name);
      return at < variables.size() ? &variables[at].second : nullptr;
    }
    void set(std::string_view name, Value value) {
      const size_t at = place(name);
      if (at < variables.size()) {
        variables[at].second = std::move(value);
        return;
      }
      variables.emplace_back(name, std::move(value));
      if (variables.size() <= kFew) return;
      for (size_t i = index.size(); i < variables.size(); ++i) index[variables[i].first] = i;
    }
    void clear() noexcept {
      variables.clear();
      index.clear();
    }

   private:
    size_t place(std::string_view name) const noexcept {
      if (!index.empty()) {
        const auto found = index.find(name);
        return found == index.end() ? variables.size() : found->second;
      }
      size_t at = 0;
      while (at < variables.size() && variables[at].first != name) ++at;
      return at;
    }
  };
  static constexpr size_t kFew = 8;

  void push(size_t parent) {
    if (used_ == scopes_.size()) scopes_.emplace_back();
    scopes_[used_].parent = parent;
    scopes_[used_].serial = ++serial_;
    current_ = used_++;
  }
  void pop(size_t before) {
    O3_CHECK(used_ > 1, "the root scope stays");
    scopes_[--used_].clear();
    current_ = before;
  }

  std::vector<Scope> scopes_;
  size_t used_ = 0;
  size_t current_ = 0;
  uint64_t serial_ = 0;
};

}  // namespace o3::text::jinja
