// SPDX-License-Identifier: Apache-2.0
#include "api/http/io_thread.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <exception>
#include <thread>

#include "base/log.h"

namespace o3::api::http {
namespace {

// The grain of every timeout; one scan per tick is cheaper than a timer per connection.
constexpr std::chrono::milliseconds kTick{50};

}  // namespace

struct IoThread::Loop {
  // One thread runs the context, others only post to it.
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      context.get_executor()};
  boost::asio::steady_timer timer{context};
  std::thread thread;
};

IoThread::IoThread(size_t index, const Clock& clock)
    : index_(index), clock_(clock), loop_(std::make_unique<Loop>()) {}

IoThread::~IoThread() {
  stop();
}

void IoThread::on_tick(std::function<void(Nanoseconds)> callback) {
  tickers_.push_back(std::move(callback));
}

// A library's exception ends one callback, not the connections of this thread. True: none came.
template <class Work>
bool IoThread::contain(const Work& work) {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    log::error("io thread {}: {}", index_, error.what());
    return false;
  }
}

void IoThread::tick() {
  loop_->timer.expires_after(kTick);
  loop_->timer.async_wait([this](boost::system::error_code error) {
    if (error) return;
    tick();  // first, so that nothing a ticker does can stop the clock
    const Nanoseconds now = clock_.monotonic();
    for (const auto& ticker : tickers_) contain([&] { ticker(now); });
  });
}

void IoThread::start() {
  tick();
  loop_->thread = std::thread([this] {
    while (!contain([this] { loop_->context.run(); })) {
    }
  });
}

void IoThread::post(std::function<void()> work) {
  boost::asio::post(loop_->context, std::move(work));
}

void IoThread::stop() {
  loop_->context.stop();
  if (loop_->thread.joinable()) loop_->thread.join();
}

boost::asio::io_context& IoThread::context() noexcept {
  return loop_->context;
}

}  // namespace o3::api::http
