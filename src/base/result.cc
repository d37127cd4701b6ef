// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace o3 {

std::string_view code_name(Code code) noexcept {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kUnauthenticated:
      return "unauthenticated";
    case Code::kDenied:
      return "denied";
    case Code::kNotFound:
      return "not_found";
    case Code::kConflict:
      return "conflict";
    case Code::kTooLong:
      return "too_long";
    case Code::kExhausted:
      return "exhausted";
    case Code::kCancelled:
      return "cancelled";
    case Code::kDeadline:
      return "deadline";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace o3
