// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "api/http/connection.h"

namespace o3::api::http {

void Group::adopt(Accepted accepted) {
  if (shared.closed.load()) return;
  auto connection = std::make_shared<Connection>(*this, std::move(accepted));
  members.insert(connection);
  connection->start();
}

// The loops go over copies: a connection that closes leaves the set.
void Group::tick(Nanoseconds now) {
  std::vector<std::shared_ptr<Connection>> late;
  for (const auto& connection : members) {
    if (connection->overdue(now)) late.push_back(connection);
  }
  for (const auto& connection : late) connection->give_up(now);
}

void Group::close_idle() {
  const std::vector<std::shared_ptr<Connection>> all(members.begin(), members.end());
  for (const auto& connection : all) {
    if (connection->idle()) connection->close();
  }
}

void Group::close_all() {
  const std::vector<std::shared_ptr<Connection>> all(members.begin(), members.end());
  for (const auto& connection : all) connection->close();
}

const std::string& Group::date_now() {
  const int64_t second =
      std::chrono::duration_cast<std::chrono::seconds>(io.clock().wall()).count();
  if (second != date_second) {
    date_second = second;
    date = imf_date(second);
  }
  return date;
}

}  // namespace o3::api::http
