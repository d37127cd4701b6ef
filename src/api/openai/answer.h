// SPDX-License-Identifier: Apache-2.0
// How one choice's text reaches the client: as a stream of chunks or as one object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/http/exchange.h"
#include "api/http/worker_pool.h"

namespace o3::api::openai {

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
};

enum class FinishReason : uint8_t { kStop, kLength };

// What every object of one answer repeats.
struct AnswerHeading {
  std::string id;       // "chatcmpl-..."
  int64_t created = 0;  // Unix seconds
  std::string model;
  std::string fingerprint;     // system_fingerprint; empty: left out
  std::string warning;         // X-O3-Warning; empty: left out
  bool include_usage = false;  // streams: a last chunk with the usage
};

// On the connection's io thread. In order: begin, text*, finish, complete; or fail at any point
// before complete. After that, nothing.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual void begin() = 0;                          // the first token has come
  virtual bool text(std::string_view released) = 0;  // false: the client reads too slowly
  virtual bool finish(FinishReason reason, const Usage& usage) = 0;
  virtual void complete() = 0;  // the answer may end now (its audit record is durable)
  virtual void fail(const ApiError& error) = 0;
  virtual void tick(Nanoseconds now) = 0;
};

std::unique_ptr<Answer> make_stream_answer(std::shared_ptr<http::Exchange> exchange,
                                           AnswerHeading heading,
                                           std::chrono::milliseconds ping_interval);

// Large answers are rendered by `workers`.
std::unique_ptr<Answer> make_whole_answer(std::shared_ptr<http::Exchange> exchange,
                                          AnswerHeading heading, http::WorkerPool& workers);

}  // namespace o3::api::openai
