// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"
#include "cache/cache_spec.h"
#include "engine/request.h"

namespace o3::engine {

// What one request may ask of an instance; fixed when the instance is made, so any thread may
// check against it.
struct RequestLimits {
  int32_t vocabulary = 0;
  int32_t model_context = 0;
  int32_t context =
      0;  // most positions of one sequence: model_context, or fewer if the pool is small

  // Throughout: prompt + max_new_tokens <= context, so that what is accepted can run alone.
  static RequestLimits of(int32_t vocabulary, int32_t model_context,
                          const cache::PageLayout& layout, uint32_t blocks);
};

// Everything about a request that could make a step fail, checked once, at submit. kInvalid,
// kTooLong (with the numbers) or kUnsupported; `param` names the field as SamplingParams and
// Generate spell it.
Result<void> check_request(const Request& request, const RequestLimits& limits);

}  // namespace o3::engine
