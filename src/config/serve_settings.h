// SPDX-License-Identifier: Apache-2.0
// The settings of `o3 serve`. The table is the documentation: `o3 serve --help` prints it.
#pragma once

#include "config/setting.h"

namespace o3::config::serve {

inline constexpr double kMillion = 1e6;
inline constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
inline constexpr double kMinute = 60e3;

// Where it listens, who may come in.
inline constexpr Setting kHost{
    "host", Kind::kText, "127.0.0.1", {1, 255}, "address to listen on; 0.0.0.0 or :: for all"};
inline constexpr Setting kPort{
    "port", Kind::kInt, "8080", {0, 65535}, "port to listen on; 0 takes a free one"};
inline constexpr Setting kTlsCert{
    "tls_cert", Kind::kText, "", {0, 4096}, "PEM file of the server's certificate chain: HTTPS"};
inline constexpr Setting kTlsKey{
    "tls_key", Kind::kText, "", {0, 4096}, "PEM file of its private key, without a passphrase"};
inline constexpr Setting kAllowedHosts{
    "allowed_hosts",
    Kind::kList,
    "",
    {0, 64},
    "further Host names accepted while listening on loopback (DNS rebinding guard)"};
inline constexpr Setting kNoAuth{
    "no_auth", Kind::kFlag, "false", {}, "asks for no API key; loopback only"};
inline constexpr Setting kDataDir{
    "data_dir",
    Kind::kText,
    "",
    {0, 4096},
    "folder for keys.json; empty: $XDG_STATE_HOME/o3, else ~/.local/state/o3"};
inline constexpr Setting kLogLevel{
    "log_level", Kind::kText, "info", {1, 16}, "debug, info, warn or error"};

// What it serves.
inline constexpr Setting kModels{
    "models",
    Kind::kList,
    "",
    {0, 64},
    "[NAME=]PATH of a GGUF file or a Hugging Face directory; NAME is what requests call it"};
inline constexpr Setting kAvailable{
    "available",
    Kind::kList,
    "",
    {0, 64},
    "[NAME=]PATH of a model that is loaded when POST /models/load asks for it"};
inline constexpr Setting kAliases{
    "aliases", Kind::kList, "", {0, 64}, "ALIAS[=NAME]: a further name of a served model"};
inline constexpr Setting kDevice{"device", Kind::kText, "cpu", {1, 64}, "device that runs models"};
inline constexpr Setting kCompute{
    "compute",
    Kind::kText,
    "fast",
    {1, 16},
    "fast: 8-bit activations in matrix products; f32: FP32 throughout"};
inline constexpr Setting kKv{
    "kv", Kind::kText, "auto", {1, 16}, "type of the KV cache: auto, f16, f32, bf16 or fp8"};
inline constexpr Setting kWeights{
    "weights",
    Kind::kText,
    "file",
    {1, 16},
    "layers' matrices in memory: file (as the file has them), fp8 (made at load; CUDA)"};
inline constexpr Setting kMemory{
    "memory",
    Kind::kBytes,
    "0",
    {0, 65536 * kGiB},
    "size of the KV caches of all models together, in equal parts; 0 chooses from the free memory"};
inline constexpr Setting kThreads{
    "threads", Kind::kInt, "0", {0, 1024}, "compute threads; 0: one per core"};
inline constexpr Setting kDeterministic{
    "deterministic",
    Kind::kFlag,
    "false",
    {},
    "same tokens in any batch (the kernels of this build always are)"};
inline constexpr Setting kMaxRunning{
    "max_running", Kind::kInt, "64", {1, 4096}, "sequences in one step"};
inline constexpr Setting kMaxWaiting{"max_waiting",
                                     Kind::kInt,
                                     "1024",
                                     {1, kMillion},
                                     "requests that may wait; more are refused with 503"};
inline constexpr Setting kPrefixCache{
    "prefix_cache",
    Kind::kText,
    "tenant",
    {1, 16},
    "who shares the KV cache of equal beginnings: tenant (requests of one tenant), all, off"};
inline constexpr Setting kStrictParams{
    "strict_params", Kind::kFlag, "false", {}, "refuses unknown fields of a request"};
inline constexpr Setting kTrustAssistant{
    "trust_assistant",
    Kind::kFlag,
    "false",
    {},
    "control tokens in assistant messages stay control tokens (clients can write any)"};
inline constexpr Setting kSystemFingerprint{"system_fingerprint",
                                            Kind::kText,
                                            "",
                                            {0, 64},
                                            "text of system_fingerprint in answers; empty: none"};

// Limits on clients; docs/http.md explains each.
inline constexpr Setting kIoThreads{"http.io_threads",
                                    Kind::kInt,
                                    "2",
                                    {1, 64},
                                    "threads that move bytes; each owns its connections"};
inline constexpr Setting kWorkerThreads{"http.worker_threads",
                                        Kind::kInt,
                                        "2",
                                        {1, 256},
                                        "threads that parse, render templates and tokenise"};
inline constexpr Setting kMaxConnections{
    "http.max_connections", Kind::kInt, "8192", {1, kMillion}, "open connections; more get 503"};
inline constexpr Setting kHeaderBytes{
    "http.header_bytes", Kind::kBytes, "16KiB", {1024, 1048576}, "most bytes of a request's head"};
inline constexpr Setting kBodyBytes{
    "http.body_bytes", Kind::kBytes, "4MiB", {1024, kGiB}, "most bytes of one request's body"};
inline constexpr Setting kBodyBytesTotal{"http.body_bytes_total",
                                         Kind::kBytes,
                                         "256MiB",
                                         {1024, 1024 * kGiB},
                                         "most bytes of all bodies held at a time"};
inline constexpr Setting kHeaderTimeout{"http.header_timeout",
                                        Kind::kMillis,
                                        "10s",
                                        {50, 10 * kMinute},
                                        "time from a request's first byte to the end of its head"};
inline constexpr Setting kBodyTimeout{"http.body_timeout",
                                      Kind::kMillis,
                                      "30s",
                                      {50, 60 * kMinute},
                                      "time for a whole body to arrive"};
inline constexpr Setting kWriteTimeout{"http.write_timeout",
                                       Kind::kMillis,
                                       "30s",
                                       {50, 60 * kMinute},
                                       "time in which a client must take some bytes"};
inline constexpr Setting kIdleTimeout{"http.idle_timeout",
                                      Kind::kMillis,
                                      "2m",
                                      {50, 60 * kMinute},
                                      "time a connection may wait unused"};
inline constexpr Setting kStreamBufferBytes{
    "http.stream_buffer_bytes",
    Kind::kBytes,
    "256KiB",
    {4096, kGiB},
    "most unsent bytes of one stream; a slower reader is cut off"};
inline constexpr Setting kPingInterval{"http.ping_interval",
                                       Kind::kMillis,
                                       "15s",
                                       {50, 60 * kMinute},
                                       "silence after which a stream gets a comment line"};
inline constexpr Setting kDrainTimeout{
    "drain_timeout",
    Kind::kMillis,
    "30s",
    {0, 60 * kMinute},
    "time for running requests to finish after SIGTERM; then they are cancelled"};

inline constexpr Setting kRows[] = {
    kHost,
    kPort,
    kTlsCert,
    kTlsKey,
    kAllowedHosts,
    kNoAuth,
    kDataDir,
    kLogLevel,
    kModels,
    kAvailable,
    kAliases,
    kDevice,
    kCompute,
    kKv,
    kWeights,
    kMemory,
    kThreads,
    kDeterministic,
    kMaxRunning,
    kMaxWaiting,
    kPrefixCache,
    kStrictParams,
    kTrustAssistant,
    kSystemFingerprint,
    kIoThreads,
    kWorkerThreads,
    kMaxConnections,
    kHeaderBytes,
    kBodyBytes,
    kBodyBytesTotal,
    kHeaderTimeout,
    kBodyTimeout,
    kWriteTimeout,
    kIdleTimeout,
    kPingInterval,
    kDrainTimeout,
    kStreamBufferBytes,
};

}  // namespace o3::config::serve
