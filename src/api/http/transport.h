// SPDX-License-Identifier: Apache-2.0
// Internal to http/: a connection's bytes, as they are or through TLS.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <utility>

namespace o3::api::http {

// The executor is spelled out: the default one allocates for every pending operation.
using Socket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// One read and one write may be pending at a time; all on the connection's io thread. Whoever
// starts an operation keeps the transport alive until its callback ran.
class Transport {
 public:
  // `tls`: null for plain bytes; outlives the transport.
  Transport(Socket socket, boost::asio::ssl::context* tls) : socket_(std::move(socket)) {
    if (tls != nullptr) tls_ = std::make_unique<Tls>(socket_, *tls);
  }

  bool needs_handshake() const noexcept { return tls_ != nullptr; }
  template <class Done>
  void handshake(Done done) {
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
  }

  template <class Buffer, class Done>
  void read_some(const Buffer& buffer, Done done) {
    if (tls_) return tls_->async_read_some(buffer, std::move(done));
    socket_.async_read_some(buffer, std::move(done));
  }
  template <class Buffer, class Done>
  void write_some(const Buffer& buffer, Done done) {
    if (tls_) return tls_->async_write_some(buffer, std::move(done));
    socket_.async_write_some(buffer, std::move(done));
  }

  // Tells the client that nothing more comes; what it still sends can be read. `done` may be called
  // when it has taken note.
  template <class Done>
  void end_sending(Done done) {
    if (tls_) return tls_->async_shutdown(std::move(done));
    boost::system::error_code ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }

  void close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

  // Whether a failed read means that the client ended its side, with or without TLS's own farewell.
  static bool ended(boost::system::error_code error) {
    return error == boost::asio::error::eof || error == boost::asio::ssl::error::stream_truncated;
  }

 private:
  using Tls = boost::asio::ssl::stream<Socket&>;

  Socket socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace o3::api::http
