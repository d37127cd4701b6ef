# SPDX-License-Identifier: Apache-2.0
"""Where the program, the model, the data and the artefacts are. A test that lacks one is skipped
with a message that says what to do, or fails where O3_REQUIRE, a comma list of model, data and
browser, names it; the program itself must be there."""
import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_NAME = "smollm2-135m-instruct"


def program() -> str:
    path = os.environ.get("O3_BIN", str(ROOT / "build/release/o3"))
    assert os.access(path, os.X_OK), f"no program at {path}: build it or set O3_BIN"
    return path


def missing(thing: str, message: str) -> None:
    """Ends the test."""
    if thing in os.environ.get("O3_REQUIRE", "").split(","):
        pytest.fail(f"{message} (O3_REQUIRE names {thing})", pytrace=False)
    pytest.skip(message)


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "o3"


def model(name: str = MODEL_FILE) -> str:
    path = pathlib.Path(os.environ.get("O3_MODEL_DIR") or cache() / "models") / name
    if not path.is_file():
        thing = "model" if name == MODEL_FILE else "other models"
        missing(thing, f"no model at {path}: ./dev model fetches it")
    return str(path)


def wikitext() -> str:
    own = os.environ.get("O3_TEST_DATA")
    folders = [pathlib.Path(own)] if own else [cache() / "data", ROOT.parent / "shared/data"]
    files = [folder / "wikitext2/wiki.test.raw" for folder in folders]
    for path in files:
        if path.is_file():
            return str(path)
    missing("data", f"no WikiText-2 at {files[0]}: tests/README.md says where to get it")


def artifacts() -> pathlib.Path:
    folder = pathlib.Path(os.environ.get("O3_ARTIFACTS", str(ROOT / "build/artifacts")))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
