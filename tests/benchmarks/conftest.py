"""The comparison without packages, made once."""

import pytest

from benchmarks import peers
from benchmarks.peer_questions import missing_data
from benchmarks.peers import Comparison


@pytest.fixture(scope="session", name="comparison")
def offline_comparison() -> Comparison:
    """Return the comparison of the methods that need no package."""
    lacking = missing_data()
    if lacking is not None:
        pytest.skip(lacking)
    return peers.compare(offline=True)
