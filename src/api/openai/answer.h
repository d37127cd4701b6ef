// SPDX-License-Identifier: Apache-2.0
// How the choices of one answer reach the client: as a stream of chunks or as one object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/api_error.h"
#include "api/http/exchange.h"
#include "api/http/worker_pool.h"
#include "api/output_chain.h"
#include "text/tokenizer.h"

namespace o3::api::openai {

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
  int32_t cached_tokens = 0;  // of the prompts, found in the KV cache
};

enum class FinishReason : uint8_t { kStop, kLength };
enum class Dialect : uint8_t { kChat, kCompletions };

// How a choice ended. `stop`: the stop string or the stop_token_ids entry that ended it.
struct ChoiceEnd {
  FinishReason reason = FinishReason::kStop;
  std::variant<std::monostate, std::string, Token> stop{};
};

// A prompt's tokens with their log probabilities; the first has none.
struct ScoredPrompt {
  std::vector<Token> tokens;
  std::vector<engine::TokenLogprobs> scores;  // of all but the first
};

// What every object of one answer repeats, and what of its parts was asked for.
struct AnswerHeading {
  Dialect dialect = Dialect::kChat;
  std::string id;       // "chatcmpl-...", "cmpl-..."
  int64_t created = 0;  // Unix seconds
  std::string model;
  std::string fingerprint;  // system_fingerprint; empty: left out
  std::string warning;      // X-O3-Warning; empty: left out
  size_t choices = 1;
  bool include_usage = false;     // streams: a last chunk with the usage
  bool continuous_usage = false;  // and in every one before
  bool logprobs = false;
  bool prompt_logprobs = false;
  std::shared_ptr<const text::Tokenizer> tokenizer;  // of the tokens in log probabilities
};

// What a choice releases at once. `tokens`: those of `text`, with logprobs only.
struct Piece {
  std::string_view text;
  std::span<const ScoredToken> tokens;
};

// On the connection's io thread. In order: begin; of each choice prompt (at most once), piece*,
// end_choice; finish, complete. Or fail at any point before complete. After that, nothing.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual void begin() = 0;  // the first token has come
  // The text that a choice begins with (empty without echo), and its log probabilities if asked.
  virtual bool prompt(size_t choice, std::string_view echo, const ScoredPrompt& scored) = 0;
  // false: the client reads too slowly. `so_far`: what the whole answer took until now.
  virtual bool piece(size_t choice, const Piece& piece, const Usage& so_far) = 0;
  virtual bool end_choice(size_t choice, const ChoiceEnd& end, const Usage& so_far) = 0;
  virtual bool finish(const Usage& usage) = 0;
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

// Takes best_of candidates for every n choices of `inner` and hands on those whose tokens are
// likeliest on average; their pieces must be scored.
std::unique_ptr<Answer> make_best_of_answer(std::unique_ptr<Answer> inner, size_t best_of,
                                            size_t n);

}  // namespace o3::api::openai
