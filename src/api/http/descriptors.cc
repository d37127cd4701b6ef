// SPDX-License-Identifier: Apache-2.0
#include "api/http/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/log.h"

namespace o3::api::http {
namespace {

// Beside connections: standard streams, the port, the log, the model's and the keys' files, and per
// io thread its epoll, event and timer descriptors.
constexpr size_t kForProcess = 64;
constexpr size_t kPerIoThread = 4;
constexpr size_t kLeastConnections = 16;

size_t reserve_for(size_t io_threads) {
  return kForProcess + kPerIoThread * io_threads;
}

}  // namespace

Result<size_t> connections_within(size_t limit, size_t wanted, size_t io_threads) {
  const size_t reserve = reserve_for(io_threads);
  const size_t least = reserve + std::min(wanted, kLeastConnections);
  if (limit < least) {
    return unavailable("the process may open " + std::to_string(limit) +
                       " files, and the server needs " + std::to_string(least) +
                       " or more; raise the limit (ulimit -n, LimitNOFILE)");
  }
  return std::min(wanted, limit - reserve);
}

Result<size_t> make_room_for_connections(size_t wanted, size_t io_threads) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = wanted + reserve_for(io_threads);
  if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{std::min(needed, limit.rlim_max), limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  O3_ASSIGN(const size_t fits, connections_within(limit.rlim_cur, wanted, io_threads));
  if (fits < wanted) {
    log::warn("at most {} connections, not {}: the process may open {} files (ulimit -n)", fits,
              wanted, limit.rlim_cur);
  }
  return fits;
}

void SpareDescriptor::take() {
  if (descriptor_ < 0) descriptor_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void SpareDescriptor::give_up() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace o3::api::http
