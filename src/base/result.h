// SPDX-License-Identifier: Apache-2.0
// Result<T>: the value, or an Error a caller must look at. The program raises no exceptions of its
// own; adapters around libraries that do catch them at the border and return one of these.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace o3 {

// What went wrong, in the terms a caller can act on. api/ maps each code once to HTTP.
enum class Code : uint8_t {
  kInvalid,          // the input is malformed or out of range
  kUnsupported,      // well-formed, but this build cannot do it; the message says what would work
  kUnauthenticated,  // no or wrong credentials
  kDenied,           // known principal, not allowed
  kNotFound,
  kConflict,
  kTooLong,      // exceeds a stated limit (context length, body size)
  kExhausted,    // a bounded resource is used up now; retry later
  kCancelled,    // the caller went away or asked to stop
  kDeadline,     // the deadline passed
  kUnavailable,  // shutting down, peer gone, disk full
  kInternal,     // a bug of ours that did not have to end the process
};

std::string_view code_name(Code code) noexcept;

struct Error {
  Code code = Code::kInternal;
  std::string message;  // one sentence for the person who sent the input; never a secret
  std::string param;    // the request field, metadata key or tensor it is about; may be empty
};

inline Error invalid(std::string message, std::string param = {}) {
  return Error{Code::kInvalid, std::move(message), std::move(param)};
}
inline Error unsupported(std::string message, std::string param = {}) {
  return Error{Code::kUnsupported, std::move(message), std::move(param)};
}
inline Error unavailable(std::string message) {
  return Error{Code::kUnavailable, std::move(message), {}};
}

// [[nodiscard]] on the type: a dropped Result is a compiler error (a bare tl::expected is not).
// Reading the wrong side is a broken invariant and aborts.
template <class T>
class [[nodiscard]] Result {
 public:
  using Value = T;

  Result(T value) : state_(std::move(value)) {}                    // NOLINT: implicit by design
  Result(Error error) : state_(tl::unexpect, std::move(error)) {}  // NOLINT

  bool ok() const noexcept { return state_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & {
    O3_CHECK(ok(), "Result read without a value");
    return *state_;
  }
  const T& operator*() const& {
    O3_CHECK(ok(), "Result read without a value");
    return *state_;
  }
  T&& operator*() && {
    O3_CHECK(ok(), "Result read without a value");
    return std::move(*state_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  const Error& error() const& {
    O3_CHECK(!ok(), "Result has no error");
    return state_.error();
  }
  Error&& error() && {
    O3_CHECK(!ok(), "Result has no error");
    return std::move(state_.error());
  }

 private:
  tl::expected<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using Value = void;

  Result() = default;
  Result(Error error) : state_(tl::unexpect, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const noexcept { return state_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const& {
    O3_CHECK(!ok(), "Result has no error");
    return state_.error();
  }
  Error&& error() && {
    O3_CHECK(!ok(), "Result has no error");
    return std::move(state_.error());
  }

 private:
  tl::expected<void, Error> state_;
};

}  // namespace o3

#define O3_CONCAT_INNER(a, b) a##b
#define O3_CONCAT(a, b) O3_CONCAT_INNER(a, b)

// O3_TRY(expr): leaves the function with expr's error, if it has one.
#define O3_TRY(expr)                                                  \
  do {                                                                \
    auto o3_try_result = (expr);                                      \
    if (!o3_try_result.ok()) return std::move(o3_try_result).error(); \
  } while (false)

// O3_ASSIGN(auto x, expr): the value of expr, or leaves the function with its error.
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses
#define O3_ASSIGN(decl, expr) O3_ASSIGN_INNER(O3_CONCAT(o3_assign_, __LINE__), decl, expr)
#define O3_ASSIGN_INNER(tmp, decl, expr)        \
  auto tmp = (expr);                            \
  if (!tmp.ok()) return std::move(tmp).error(); \
  decl = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)
