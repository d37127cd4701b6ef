// SPDX-License-Identifier: Apache-2.0
#include "api/http/tls_context.h"

#include <openssl/ssl.h>

#include <string_view>

namespace o3::api::http {
namespace {

namespace ssl = boost::asio::ssl;

// Of what a client offers, HTTP/1.1; one that offers only others is told that there is none.
int choose_protocol(SSL* /*connection*/, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned int length, void* /*argument*/) {
  constexpr std::string_view kHttp11 = "http/1.1";
  for (unsigned int at = 0; at < length; at += 1U + offered[at]) {
    const std::string_view name(reinterpret_cast<const char*>(offered + at + 1), offered[at]);
    if (name != kHttp11) continue;
    *out = offered + at + 1;
    *out_length = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

Error bad_file(const char* setting, const std::string& file, const std::string& why) {
  return invalid("cannot use " + file + ": " + why, setting);
}

}  // namespace

Result<std::unique_ptr<ssl::context>> make_tls_context(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty()) {
    return invalid("--tls-cert and --tls-key go together",
                   files.key.empty() ? "tls_key" : "tls_cert");
  }
  if (files.certificate.empty()) return std::unique_ptr<ssl::context>();
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // idle connections hold less memory
  SSL_CTX_set_alpn_select_cb(native, &choose_protocol, nullptr);
  boost::system::error_code error;
  // Nobody is asked for a passphrase on a terminal.
  context->set_password_callback([](size_t, ssl::context::password_purpose) { return ""; }, error);
  context->use_certificate_chain_file(files.certificate, error);
  if (error) return bad_file("tls_cert", files.certificate, error.message());
  context->use_private_key_file(files.key, ssl::context::pem, error);
  if (error) return bad_file("tls_key", files.key, error.message());
  if (SSL_CTX_check_private_key(native) != 1) {
    return bad_file("tls_key", files.key, "it does not belong to " + files.certificate);
  }
  return context;
}

}  // namespace o3::api::http
