// SPDX-License-Identifier: Apache-2.0
#include "api/http/turn.h"

#include <utility>

namespace o3::api::http {

Turn::~Turn() {
  if (shared_.stopping.load()) return;
  // The connection must be touched, and its last reference dropped, on its own thread.
  const bool forgotten = !responded_.load();
  io_.post([connection = std::move(connection_), number = number_, forgotten] {
    if (forgotten) connection->drop(number);
  });
}

void Turn::post(std::function<void()> work) {
  if (!shared_.stopping.load()) io_.post(std::move(work));
}

void Turn::respond(Response response) {
  if (responded_.exchange(true) || shared_.stopping.load()) return;
  io_.post([connection = connection_, number = number_, response = std::move(response)]() mutable {
    connection->respond(number, std::move(response));
  });
}

void Turn::end_stream() {
  responded_ = true;
  connection_->end_stream(number_);
}

void Turn::cut() {
  responded_ = true;
  if (connection_->serves(number_)) connection_->close();
}

void Turn::client_left() {
  if (auto callback = std::exchange(gone_, nullptr)) callback();
}

}  // namespace o3::api::http
