"""The comparison without packages, made once."""

import pytest

from benchmarks.peers import compare as peers
from benchmarks.peers.compare import Comparison
from benchmarks.peers.questions import missing_data


@pytest.fixture(scope="session", name="comparison")
def offline_comparison() -> Comparison:
    """Return the comparison of the methods that need no package."""
    lacking = missing_data()
    if lacking is not None:
        pytest.skip(lacking)
    return peers.compare(offline=True)
