# SPDX-License-Identifier: Apache-2.0
"""Makes the tests' Python environment: python_env.py FOLDER REQUIREMENTS. Quick when it is there."""
import hashlib
import pathlib
import shutil
import subprocess
import sys


def main() -> int:
    folder, requirements = map(pathlib.Path, sys.argv[1:3])
    stamp = folder / "requirements.sha256"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    subprocess.run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet",
                    "--disable-pip-version-check", "--no-deps", "-r", str(requirements)], check=True)
    stamp.write_text(digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
