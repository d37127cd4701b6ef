# SPDX-License-Identifier: Apache-2.0
import pytest

from server import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server with default settings for the tests of a file."""
    with Server(tmp_path_factory.mktemp("server") / "data") as running:
        yield running
        assert running.stop() == 0, running.output
