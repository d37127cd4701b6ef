# SPDX-License-Identifier: Apache-2.0
"""Where the program, the model, the data and the artefacts are. A test that lacks one is skipped
with a message that says what to do; the program itself must be there."""
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


def model() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    folder = os.environ.get("O3_MODEL_DIR") or f"{cache}/o3/models"
    path = pathlib.Path(folder) / MODEL_FILE
    if not path.is_file():
        pytest.skip(f"no model at {path}: ./dev model fetches it")
    return str(path)


def wikitext() -> str:
    folder = os.environ.get("O3_TEST_DATA") or str(ROOT.parent / "shared/data")
    path = pathlib.Path(folder) / "wikitext2/wiki.test.raw"
    if not path.is_file():
        pytest.skip(f"no WikiText-2 at {path}: set O3_TEST_DATA to a folder that holds wikitext2/")
    return str(path)


def artifacts() -> pathlib.Path:
    folder = pathlib.Path(os.environ.get("O3_ARTIFACTS", str(ROOT / "build/artifacts")))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
