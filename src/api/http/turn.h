// SPDX-License-Identifier: Apache-2.0
// Internal to http/: one request of a connection, as its handler sees it.
#pragma once

#include <memory>
#include <string>

#include "api/http/connection.h"

namespace o3::api::http {

class Turn final : public Exchange, public std::enable_shared_from_this<Turn> {
 public:
  Turn(std::shared_ptr<Connection> connection, Group& group, uint64_t number)
      : connection_(std::move(connection)),
        io_(group.io),
        shared_(group.shared),
        lease_(group.shared.budget),
        number_(number) {}
  ~Turn() override;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  void post(std::function<void()> work) override;
  void respond(Response response) override;
  size_t io_index() const noexcept override { return io_.index(); }
  void release_body() noexcept override { lease_.release(); }

  bool open() const noexcept override { return connection_->open(number_); }
  void on_gone(std::function<void()> callback) override { gone_ = std::move(callback); }
  void begin_stream(const Response& answer) override { connection_->begin_stream(number_, answer); }
  bool send(std::string_view bytes) override { return connection_->send(number_, bytes); }
  void end_stream() override;
  void cut() override;

  // For the connection, on its thread.
  bool hold(size_t bytes) noexcept { return lease_.grow_to(bytes); }
  void answered() noexcept {
    gone_ = nullptr;
    responded_ = true;
  }
  void client_left();

 private:
  std::shared_ptr<Connection> connection_;
  IoThread& io_;
  Shared& shared_;
  BodyLease lease_;
  const uint64_t number_;
  std::function<void()> gone_;
  std::atomic<bool> responded_{false};
};

}  // namespace o3::api::http
