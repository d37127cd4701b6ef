// SPDX-License-Identifier: Apache-2.0
// What the engine's tests share: requests in one line, sinks that remember.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/request.h"

namespace o3::engine {

struct Ask {
  uint64_t id = 1;
  std::vector<Token> prompt = {1, 2, 3};
  int32_t max_new_tokens = 4;
  RequestClass request_class = RequestClass::kNormal;
  std::optional<Nanoseconds> deadline = std::nullopt;
  std::vector<Token> stop_tokens = {};
  SamplingParams sampling = {.temperature = 0.0F};
  ConstraintFactory constraint = {};
  std::optional<int32_t> logprobs = std::nullopt;
  std::optional<int32_t> prompt_logprobs = std::nullopt;
  std::string tenant = {};
  bool reuse_prefix = true;
};

inline std::shared_ptr<const Request> make_request(Ask ask) {
  Request request;
  request.id = RequestId{ask.id};
  request.request_class = ask.request_class;
  request.deadline = ask.deadline;
  request.domain.tenant = std::move(ask.tenant);
  request.work = Generate{.prompt = std::move(ask.prompt),
                          .sampling = ask.sampling,
                          .max_new_tokens = ask.max_new_tokens,
                          .stop_tokens = std::move(ask.stop_tokens),
                          .constraint = std::move(ask.constraint),
                          .logprobs = ask.logprobs,
                          .prompt_logprobs = ask.prompt_logprobs,
                          .reuse_prefix = ask.reuse_prefix};
  return std::make_shared<const Request>(std::move(request));
}

// Remembers everything, from any thread.
class RecordingSink final : public DeltaSink {
 public:
  struct Record {
    std::vector<Token> tokens;
    std::vector<TokenLogprobs> logprobs;
    std::vector<TokenLogprobs> prompt_logprobs;
    std::vector<Finish> finishes;  // one, if the engine keeps its promise
    bool after_finish = false;     // something came after the Finish
    int32_t cached_tokens = 0;
  };

  void deliver(std::vector<Delta> deltas) noexcept override {
    const std::lock_guard lock(mutex_);
    ++deliveries_;
    for (Delta& delta : deltas) {
      Record& record = records_[delta.id.value];
      record.after_finish |= !record.finishes.empty();
      record.cached_tokens = delta.cached_tokens;
      record.tokens.insert(record.tokens.end(), delta.tokens.begin(), delta.tokens.end());
      for (auto& one : delta.logprobs) record.logprobs.push_back(std::move(one));
      for (auto& one : delta.prompt_logprobs) record.prompt_logprobs.push_back(std::move(one));
      if (delta.finish) {
        record.finishes.push_back(*std::move(delta.finish));
        ++finished_;
      }
    }
    changed_.notify_all();
  }

  Record record(uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(id);
    return found == records_.end() ? Record{} : found->second;
  }
  std::map<uint64_t, Record> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }
  int deliveries() const {
    const std::lock_guard lock(mutex_);
    return deliveries_;
  }
  int finished() const {
    const std::lock_guard lock(mutex_);
    return finished_;
  }
  void wait_for_finished(int count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_ >= count; });
  }
  void wait_for_tokens(uint64_t id, size_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      const auto found = records_.find(id);
      return found != records_.end() && found->second.tokens.size() >= count;
    });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<uint64_t, Record> records_;
  int deliveries_ = 0;
  int finished_ = 0;
};

}  // namespace o3::engine
