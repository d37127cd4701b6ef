// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/delta_router.h"
#include "api/gate.h"
#include "api/openai/answer.h"
#include "api/output_chain.h"
#include "api/services.h"

namespace o3::api::openai {

// One request from the submission of its choices to the engine until the engine's last Finish: each
// choice's tokens go through an output chain into the answer. Lives on its connection's io thread.
// Whoever leaves first (client, stop string, engine, server), exactly one outcome is counted.
class Generation final : public DeltaReceiver, public std::enable_shared_from_this<Generation> {
 public:
  struct Parts {
    std::shared_ptr<http::Exchange> exchange;
    std::shared_ptr<const ServedModel> model;
    std::vector<std::shared_ptr<const engine::Request>> requests;  // one for each choice
    std::vector<std::string> echoes;  // of each choice: what its text begins with
    std::vector<Token> named_stops;   // stop tokens that the client named: stop_reason tells them
    int32_t prompt_tokens = 0;        // of all prompts
    size_t candidates = 1;            // choices of each prompt, in order
    bool prompt_only = false;         // no text is asked for
    std::unique_ptr<Answer> answer;
    OutputChain::Options output;
    Permit permit;
  };
  Generation(Services& services, Parts parts);

  void start();
  void on_delta(engine::Delta delta) override;
  void on_tick(Nanoseconds now) override;
  void on_shutdown() override;

 private:
  struct Choice {
    size_t index = 0;
    OutputChain chain;
    ScoredPrompt prompt{};
    Nanoseconds last_token{};
    int32_t completion_tokens = 0;  // so far
    int32_t cached_tokens = 0;      // of its prompt
    bool begun = false;             // a token of it has come
    bool ended = false;             // its end is part of the answer
    Outcome outcome = Outcome::kStop;
  };

  Choice& choice_of(RequestId id);
  const engine::Request& request_of(const Choice& choice) const {
    return *parts_.requests[choice.index];
  }
  bool submit_all();
  void on_client_gone();
  void begin(Choice& choice);
  void take_tokens(Choice& choice, engine::Delta& delta);
  bool show(Choice& choice);  // what its chain released; false: the reader is too slow
  void on_finish(Choice& choice, const engine::Finish& finish);
  void end_choice(Choice& choice, Outcome outcome, const engine::Finish* finish);
  void succeed();
  void fail(Outcome outcome, const Error& error);
  void abandon();  // nobody reads the answer any more
  void cancel_all();
  void end(Outcome outcome);
  void settle(const engine::Finish& finish);
  Usage usage() const;
  void close_record(Outcome outcome, const std::function<void(const Result<void>&)>& then);

  Services& services_;
  DeltaRouter& router_;
  Parts parts_;
  std::vector<Choice> choices_;
  std::string released_;
  size_t unfinished_;  // choices whose Finish has not come
  int64_t settled_prompt_ = 0;
  int64_t settled_completion_ = 0;
  bool begun_ = false;  // a token has come
  bool ended_ = false;  // the outcome is known and counted
};

}  // namespace o3::api::openai
