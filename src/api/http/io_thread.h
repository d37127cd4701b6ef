// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/clock.h"

namespace boost::asio {
class io_context;
}

namespace o3::api::http {

// One of the few threads that move bytes. Each owns its connections and streams, which are touched
// by it alone; other threads reach them through post().
class IoThread {
 public:
  IoThread(size_t index, const Clock& clock);
  ~IoThread();  // stops and joins
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // Called about every 50 ms with the time, on this thread; register before start().
  void on_tick(std::function<void(Nanoseconds now)> callback);

  void start();
  void post(std::function<void()> work);  // any thread; dropped after stop()
  void stop();                            // lets the current callback end, then joins

  size_t index() const noexcept { return index_; }
  const Clock& clock() const noexcept { return clock_; }
  boost::asio::io_context& context() noexcept;

 private:
  struct Loop;
  template <class Work>
  bool contain(const Work& work);
  void tick();

  const size_t index_;
  const Clock& clock_;
  std::vector<std::function<void(Nanoseconds)>> tickers_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace o3::api::http
