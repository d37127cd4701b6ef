// SPDX-License-Identifier: Apache-2.0
// For tests only: an audit log that counts how often each record is closed, and how.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "govern/audit.h"

namespace o3::api::testing {

class CountingAudit final : public govern::AuditLog {
 public:
  ~CountingAudit() override {
    for (std::thread& thread : threads_) thread.join();
  }

  Result<std::unique_ptr<govern::AuditRecord>> open(const govern::AuditOpen& what) override {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(closes_.emplace(what.request_id, std::vector<Outcome>{}).second)
        << "two records of one request";
    return std::unique_ptr<govern::AuditRecord>(std::make_unique<Record>(*this, what.request_id));
  }
  void denied(const govern::AuditOpen& /*what*/) noexcept override {}

  size_t opened() {
    const std::lock_guard lock(mutex_);
    return closes_.size();
  }
  // The outcomes of the records that were closed exactly once, and how many each has; anything else
  // fails the test. Forgets them.
  std::map<Outcome, int> take() {
    const std::lock_guard lock(mutex_);
    std::map<Outcome, int> outcomes;
    for (const auto& [id, closes] : std::exchange(closes_, {})) {
      EXPECT_EQ(closes.size(), 1U) << id << " was opened once and closed so often";
      for (const Outcome outcome : closes) ++outcomes[outcome];
    }
    return outcomes;
  }
  size_t closed() {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& [id, closes] : closes_) count += closes.empty() ? 0U : 1U;
    return count;
  }

  // Of every close from now on.
  void fail() { failing_ = true; }
  void take_time(std::chrono::milliseconds time) { time_ = time; }

 private:
  class Record final : public govern::AuditRecord {
   public:
    Record(CountingAudit& log, std::string id) : log_(log), id_(std::move(id)) {}
    void close(const govern::AuditClose& how, std::function<void(Result<void>)> durable) override {
      log_.close(id_, how.outcome, std::move(durable));
    }

   private:
    CountingAudit& log_;
    const std::string id_;
  };

  void close(const std::string& id, Outcome outcome, std::function<void(Result<void>)> durable) {
    const std::lock_guard lock(mutex_);
    closes_[id].push_back(outcome);
    threads_.emplace_back([durable = std::move(durable), fails = failing_, time = time_]() mutable {
      std::this_thread::sleep_for(time);
      auto call = std::move(durable);
      if (fails) {
        call(unavailable("the disk is full"));
      } else {
        call({});
      }
    });
  }

  std::mutex mutex_;
  std::map<std::string, std::vector<Outcome>> closes_;
  std::vector<std::thread> threads_;
  bool failing_ = false;
  std::chrono::milliseconds time_{0};
};

}  // namespace o3::api::testing
