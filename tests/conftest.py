# SPDX-License-Identifier: Apache-2.0
import pytest

from server import Server

MEASURED = pytest.StashKey[list]()


def pytest_configure(config):
    config.stash[MEASURED] = []


@pytest.fixture
def measured(request):
    """A function that takes a line of text; all such lines are shown at the end of a run."""
    def note(line: str) -> None:
        request.config.stash[MEASURED].append(f"measured: {request.node.name}: {line}")
    return note


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash[MEASURED]:
        terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server with default settings for the tests of a file."""
    with Server(tmp_path_factory.mktemp("server") / "data") as running:
        yield running
        assert running.stop() == 0, running.output
