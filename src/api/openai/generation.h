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

// One chat request from its submission to the engine until the engine's Finish: the tokens go
// through the output chain into the answer. Lives on its connection's io thread. Whoever leaves
// first (client, stop string, engine, server), exactly one outcome is counted.
class Generation final : public DeltaReceiver, public std::enable_shared_from_this<Generation> {
 public:
  struct Parts {
    std::shared_ptr<http::Exchange> exchange;
    std::shared_ptr<const ServedModel> model;
    std::shared_ptr<const engine::Request> request;
    int32_t prompt_tokens = 0;
    std::unique_ptr<Answer> answer;
    std::vector<std::string> stops;
    Permit permit;
  };
  Generation(Services& services, Parts parts);

  void start();
  void on_delta(engine::Delta delta) override;
  void on_tick(Nanoseconds now) override;
  void on_shutdown() override;

 private:
  void on_client_gone();
  void take_tokens(const std::vector<Token>& tokens);
  void on_finish(const engine::Finish& finish);
  void succeed(Outcome outcome, int32_t completion_tokens);
  void fail(Outcome outcome, const Error& error);
  void abandon();  // nobody reads the answer any more
  void end(Outcome outcome);
  void close_record(Outcome outcome, const std::function<void(const Result<void>&)>& then);

  Services& services_;
  DeltaRouter& router_;
  Parts parts_;
  OutputChain chain_;
  std::string released_;
  Nanoseconds last_token_{};
  bool begun_ = false;  // a token has come
  bool ended_ = false;  // the outcome is known and counted
};

}  // namespace o3::api::openai
