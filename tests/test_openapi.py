# SPDX-License-Identifier: Apache-2.0
"""schemathesis against the live server: whatever it sends, no 5xx and no status that the document lacks."""
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

import locate
from server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # A context of some hundred tokens: no answer takes long, whatever max_tokens says.
    with Server(tmp_path_factory.mktemp("openapi") / "data", "--memory", "8MiB") as running:
        yield running
        assert running.stop() == 0, running.output


def document(server, folder: pathlib.Path) -> str:
    """The server's own document; only the names of models, which it keeps to itself, are added."""
    status, _, body = server.request("GET", "/openapi.json")
    assert status == 200
    api = json.loads(body)
    names = {"type": "string", "enum": [locate.MODEL_NAME]}
    for name, schema in api["components"]["schemas"].items():
        # Unloading the one model would make the rest of the run answer 404 and 503.
        if "model" in schema.get("properties", {}) and name != "ManageRequest":
            schema["properties"]["model"] = names
    api["paths"]["/v1/models/{id}"]["get"]["parameters"][0]["schema"] = names
    path = folder / "openapi.json"
    path.write_text(json.dumps(api))
    return str(path)


def test_no_undocumented_status_and_no_server_error(server, tmp_path):
    program = shutil.which("schemathesis", path=str(pathlib.Path(sys.executable).parent))
    if program is None:
        pytest.skip("schemathesis is not installed (requirements-clients.txt)")
    done = subprocess.run(
        [program, "--no-color", "run", document(server, tmp_path), "--url", server.url,
         "--checks", "not_a_server_error,status_code_conformance,content_type_conformance",
         "--header", f"Authorization: Bearer {server.key}", "--max-examples", "20", "--seed", "1",
         "--request-timeout", "60", "--workers", "1", "--generation-database", "none",
         "--suppress-health-check", "all", "--warnings", "off"],
        capture_output=True, text=True, timeout=900, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    status, _, _ = server.request("GET", "/health")
    assert status == 200
