"""Fixtures of the seeding tests: a moto server as a process, and a laboratory for each test."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# `pytest` as a command does not put the repository's root on the path; `python -m pytest` does.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.helpers.seeding.server import Lab, moto_server


@pytest.fixture(scope="session")
def moto() -> "Iterator[S3Client]":
    """Client of a moto S3 server that lives as long as the session."""
    with moto_server() as address:
        yield boto3.client(  # pyright: ignore[reportUnknownMemberType] - services without stubs
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="laboratory",
            aws_secret_access_key="laboratory",
        )


@pytest.fixture
def lab(moto: "S3Client", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """Give a bucket, a volume and a proxy of the test's own."""
    laboratory = Lab(moto, tmp_path)
    for name, value in laboratory.credentials.items():
        monkeypatch.setenv(name, value)
    with laboratory.proxy:
        laboratory.client.create_bucket(Bucket=laboratory.bucket)
        yield laboratory
        laboratory.stop()
