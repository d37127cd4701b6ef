# SPDX-License-Identifier: Apache-2.0
"""`o3 serve` as a process: started on a free port with its own data folder, watched, stopped."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import locate

KEY = re.compile(r"\bo3-[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])")
LINK = re.compile(r"http://[^\s#]+#token=([A-Za-z0-9_-]+)")
START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A context manager; on leaving, the process is gone."""

    def __init__(self, data_dir: pathlib.Path, *options: str, model: str | None = None,
                 host: str = "127.0.0.1", port: int | None = None,
                 environment: dict | None = None):
        self.data_dir = data_dir
        self.host = host
        self.port = port or free_port()
        path = model or locate.model()
        self.command = [locate.program(), "serve", "--model", f"{locate.MODEL_NAME}={path}",
                        "--host", host, "--port", str(self.port), "--data-dir", str(data_dir),
                        *options]
        self.environment = environment  # None: that of the tests
        data_dir.mkdir(parents=True, exist_ok=True)
        self._log = data_dir.parent / f"{data_dir.name}-{self.port}.log"
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *unused) -> None:
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def launch(self) -> "Server":
        """Starts the process without waiting for it to serve."""
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.STDOUT,
                                            stdin=subprocess.DEVNULL, env=self.environment)
        return self

    def start(self) -> "Server":
        self.launch()
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            assert self.process.poll() is None, f"o3 serve ended early:\n{self.output}"
            if self.ready_status() == 200:
                return self
            time.sleep(0.05)
        raise AssertionError(f"not ready after {START_SECONDS} s:\n{self.output}")

    def freeze(self) -> None:
        """Stops all its threads where they are, until thaw()."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 30) -> int:
        return self.process.wait(timeout=seconds)

    def stop(self) -> int:
        self.terminate()
        return self.wait()

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def key(self) -> str:
        return KEY.search(self.output).group(0)

    @property
    def link(self) -> str:
        return LINK.search(self.output).group(0)

    @property
    def page_token(self) -> str:
        return LINK.search(self.output).group(1)

    def request(self, method: str, path: str, body: bytes | dict | None = None,
                key: str | None = None, headers: dict | None = None):
        """(status, headers, bytes) of one request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            sent = dict(headers or {})
            if key is not None:
                sent["Authorization"] = f"Bearer {key}"
            if isinstance(body, dict):
                body = json.dumps(body).encode()
            if body is not None:
                sent.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def ready_status(self) -> int | None:
        """The status of /readyz, or None while nothing listens."""
        try:
            return self.request("GET", "/readyz")[0]
        except OSError:
            return None

    def metrics(self) -> dict[str, float]:
        """Each sample of /metrics under its text: name{labels}."""
        status, _, body = self.request("GET", "/metrics", key=self.key)
        assert status == 200, body
        samples = {}
        for line in body.decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                samples[name] = float(value)
        return samples

    def await_metric(self, name: str, value: float, seconds: float) -> float:
        """Waits until the sample has the value; the seconds it took."""
        start = time.monotonic()
        while True:
            now = self.metrics()[name]
            waited = time.monotonic() - start
            if now == value:
                return waited
            assert waited < seconds, f"{name} is still {now} after {waited:.2f} s, not {value}"
            time.sleep(0.01)
