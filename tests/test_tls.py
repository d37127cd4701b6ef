# SPDX-License-Identifier: Apache-2.0
"""HTTPS: curl and openssl against a certificate of our own."""
import json
import shutil
import ssl
import subprocess
import urllib.request

import pytest

import locate
from server import Server


def openssl(*arguments: str, **more) -> subprocess.CompletedProcess:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl command")
    return subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=30,
                          **more)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", check=True)
    return certificate, key


class TlsServer(Server):
    def ready_status(self):
        try:
            context = ssl._create_unverified_context()
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port}/readyz", timeout=5,
                                        context=context) as answer:
                return answer.status
        except OSError:
            return None


@pytest.fixture(scope="module")
def server(tmp_path_factory, files):
    certificate, key = files
    with TlsServer(tmp_path_factory.mktemp("served") / "data", "--tls-cert", str(certificate),
                   "--tls-key", str(key)) as running:
        yield running
        assert running.stop() == 0, running.output


def curl(server, files, *arguments, fails=False):
    done = subprocess.run(["curl", "-sS", "--max-time", "60", "--cacert", str(files[0]),
                           *arguments], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stderr
    return done.stdout


def test_curl_verifies_and_streams(server, files):
    address = f"https://localhost:{server.port}"
    assert json.loads(curl(server, files, f"{address}/health")) == {"status": "ok"}
    body = {"model": locate.MODEL_NAME, "max_tokens": 20, "stream": True,
            "messages": [{"role": "user", "content": "Hello"}]}
    stream = curl(server, files, "-N", f"{address}/v1/chat/completions", "--json",
                  json.dumps(body), "-H", f"Authorization: Bearer {server.key}")
    assert stream.endswith("data: [DONE]\n\n")
    large = json.dumps({"content": "octopus " * 100_000})
    done = subprocess.run(["curl", "-sS", "--cacert", str(files[0]), f"{address}/tokenize", "--json", "@-",
                           "-H", f"Authorization: Bearer {server.key}"], input=large,
                          capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout)["count"] > 100_000
    closing = curl(server, files, "-i", "-H", "Connection: close", f"{address}/livez")
    assert closing.endswith("alive\n")
    assert "https://" in server.output


def test_plain_http_is_not_served_there(server, files):
    curl(server, files, f"http://localhost:{server.port}/livez", fails=True)


def test_versions_and_protocols(server):
    def handshake(*options):
        return openssl("s_client", "-connect", f"127.0.0.1:{server.port}", *options, input="")

    assert "TLSv1.3" in handshake().stdout
    assert "TLSv1.2" in handshake("-tls1_2").stdout
    for old in ("-tls1", "-tls1_1"):
        assert handshake(old, "-cipher", "ALL:@SECLEVEL=0").returncode != 0
    assert "ALPN protocol: http/1.1" in handshake("-alpn", "h2,http/1.1").stdout


def test_a_client_that_leaves_in_the_handshake_costs_nothing(server, files):
    import socket
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(b"\x16\x03\x01\x02")
    assert json.loads(curl(server, files, f"https://localhost:{server.port}/health"))


def test_files_that_cannot_be_used_are_named(tmp_path, files):
    certificate, key = files
    bad = tmp_path / "bad.pem"
    bad.write_text("nonsense")
    for options, word in ((("--tls-cert", str(certificate)), "go together"),
                          (("--tls-cert", str(bad), "--tls-key", str(key)), str(bad)),
                          (("--tls-cert", str(certificate), "--tls-key", str(bad)), str(bad))):
        server = Server(tmp_path / "data", *options)
        server.launch()
        assert server.wait(30) == 2, server.output
        assert word in server.output
