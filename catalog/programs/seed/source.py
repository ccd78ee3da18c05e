"""The S3 store: what lies below the prefix, what its sums are, and its bytes by range."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    PartialCredentialsError,
)
from botocore.parsers import ResponseParserError

from catalog.programs.seed.errors import (
    ConfigError,
    SeedError,
    SourceChangedError,
    TransientError,
    listed,
)
from catalog.programs.seed.keys import (
    HEADER,
    MANIFEST,
    SIZE_ONLY,
    SUMS,
    Remote,
    parse_sums,
    unsafe_names,
)
from catalog.programs.seed.settings import MIB, Settings
from catalog.programs.seed.tensors import SUFFIX

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEYS_MEND: Final = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to keys of this store"
RIGHT_MEND: Final = "allow s3:ListBucket on the bucket and s3:GetObject below the prefix"
REGION_MEND: Final = "set AWS_REGION to the bucket's region"
# What no retry can mend, and the mend. Everything else that a store answers may pass.
REFUSALS: Final[Mapping[str, str]] = {
    "NoSuchBucket": "create the bucket or correct TRIPLANE_SOURCE",
    "InvalidBucketName": "correct TRIPLANE_SOURCE",
    "AccessDenied": RIGHT_MEND,
    "403": RIGHT_MEND,
    "InvalidAccessKeyId": KEYS_MEND,
    "SignatureDoesNotMatch": KEYS_MEND,
    "PermanentRedirect": REGION_MEND,
    "AuthorizationHeaderMalformed": REGION_MEND,
    "404": "that address is no S3 store; correct S3_ENDPOINT_URL",
}
BLOCK: Final = 256 * 1024  # bytes in memory per stream


def connect(settings: Settings) -> S3Client:
    """Make the S3 client, with credentials and region from boto3's usual chain."""
    # Newer SDKs ask every store for checksums of ranges, which some stores answer wrongly; ours
    # are taken over whole files. As a variable because older SDKs refuse the Config argument.
    os.environ.setdefault("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required")
    import boto3  # late: it takes a second, and a run with nothing to do ends without it
    from botocore.config import Config

    config = Config(
        connect_timeout=10,
        read_timeout=60,
        max_pool_connections=settings.parallel + 2,
        retries={"mode": "standard", "max_attempts": 3},
        s3={"addressing_style": settings.addressing},
    )
    try:
        return boto3.client(  # pyright: ignore[reportUnknownMemberType] - services without stubs
            "s3",
            # Pods are given AWS_REGION, the SDK for Python reads only AWS_DEFAULT_REGION.
            region_name=os.environ.get("AWS_REGION") or None,
            endpoint_url=settings.endpoint or None,
            config=config,
        )
    except (BotoCoreError, ValueError) as error:
        raise ConfigError(
            f"no client for {settings.where}: {error}; correct S3_ENDPOINT_URL or AWS_REGION"
        ) from error


class Source:
    """The prefix: what lies there, what its sums are, and its bytes by range."""

    def __init__(self, client: S3Client, settings: Settings) -> None:
        self.client = client
        self.settings = settings

    def identity(self) -> dict[str, tuple[int, str]]:
        """Name to (size, ETag) of every object; two equal answers mean an unchanged source."""
        found: dict[str, tuple[int, str]] = {}
        with self._asking("list", ""):
            paginator = self.client.get_paginator("list_objects_v2")
            pages = paginator.paginate(Bucket=self.settings.bucket, Prefix=self.settings.prefix)
            for item in (item for page in pages for item in page.get("Contents", ())):
                name = item.get("Key", "").removeprefix(self.settings.prefix)
                size = item.get("Size", 0)
                if size or (name and not name.endswith("/")):  # else a console's folder marker
                    found[name] = (size, item.get("ETag", ""))
        found.pop(MANIFEST, None)  # of the copy that was uploaded; ours is written anew
        return found

    def remotes(self, found: Mapping[str, tuple[int, str]]) -> list[Remote]:
        """Say what to fetch and how each file will be verified."""
        where = f"{self.settings.source} at {self.settings.where}"
        if not found:
            raise ConfigError(f"{where} has no objects; upload the weights or correct the source")
        if problems := unsafe_names(found):
            raise ConfigError(
                f"{len(problems)} object names in {where} cannot be file names; rename or delete"
                f" them:{listed(problems)}"
            )
        sums = parse_sums(self._read_sums(found)) if SUMS in found else {}
        if absent := sorted(sums.keys() - found.keys() - {MANIFEST}):
            raise SeedError(
                f"{SUMS} names {len(absent)} files that {where} lacks; finish the upload or correct"
                f" the list:{listed(absent)}"
            )
        remotes = [
            Remote(name, *found[name], expected=sums[name], proof=SUMS)
            if name in sums
            else self._by_head(name, *found[name])
            for name in sorted(found)
        ]
        loose = [remote.name for remote in remotes if remote.expected is None]
        if loose and self.settings.require_checksums:
            raise ConfigError(
                f"no checksum vouches for {len(loose)} files in {where}, and TRIPLANE_REQUIRE asks"
                f" for one each; upload {SUMS} beside them:{listed(loose)}"
            )
        return remotes

    def blocks(self, remote: Remote, start: int, end: int) -> Generator[bytes]:
        """Yield the bytes from `start` up to `end`, only of the object that was listed."""
        key = self.settings.prefix + remote.name
        with self._asking("read", remote.name):
            answer = self.client.get_object(
                Bucket=self.settings.bucket,
                Key=key,
                Range=f"bytes={start}-{end - 1}",
                IfMatch=remote.etag,
            )
            # Compared as well, for a store that does not know If-Match.
            if answer.get("ETag", remote.etag).strip('"') != remote.etag.strip('"'):
                raise SourceChangedError(remote.name)
            if answer["ContentLength"] != end - start:
                raise SeedError(
                    f"{self.settings.where} sent {answer['ContentLength']} bytes of {key!r} for a"
                    f" range of {end - start}; the store must honour Range requests"
                )
            with contextlib.closing(answer["Body"]) as body:
                while block := body.read(BLOCK):
                    yield block

    def _read_sums(self, found: Mapping[str, tuple[int, str]]) -> str:
        remote, where = self._by_head(SUMS, *found[SUMS]), f"{self.settings.source}{SUMS}"
        if remote.size > 16 * MIB:
            raise ConfigError(f"{where} is too large for a list of sums; correct it")
        content = b"".join(self.blocks(remote, 0, remote.size)) if remote.size else b""
        digest = hashlib.new(remote.algorithm, content, usedforsecurity=False).hexdigest()
        if remote.expected not in {None, digest}:
            # Otherwise a byte that went wrong on the way would make good weights look corrupt.
            raise TransientError(f"{where} did not arrive as {remote.proof} says")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"{where} is not UTF-8 text; correct it") from error

    def _by_head(self, name: str, size: int, etag: str) -> Remote:
        bucket, key = self.settings.bucket, self.settings.prefix + name
        with self._asking("read the head of", name):
            head = self.client.head_object(
                Bucket=bucket, Key=key, IfMatch=etag, ChecksumMode="ENABLED"
            )
        # A checksum "of checksums" (multipart) ends in "-<parts>" and is no sum of the bytes.
        digest = head.get("ChecksumSHA256", "")
        if re.fullmatch(r"[A-Za-z0-9+/]{43}=", digest):
            whole = base64.b64decode(digest).hex()
            return Remote(name, size, etag, expected=whole, proof="S3 SHA-256")
        # An ETag is the MD5 only of one-part objects, and never under KMS or customer keys.
        sealed = "kms" in head.get("ServerSideEncryption", "") or "SSECustomerAlgorithm" in head
        if not sealed and (md5 := re.fullmatch(r'"?([0-9a-f]{32})"?', etag)):
            return Remote(name, size, etag, algorithm="md5", expected=md5[1], proof="S3 MD5")
        return Remote(name, size, etag, proof=HEADER if name.endswith(SUFFIX) else SIZE_ONLY)

    @contextlib.contextmanager
    def _asking(self, verb: str, name: str) -> Generator[None]:
        what = f"cannot {verb} {self.settings.source}{name} at {self.settings.where}"
        try:
            yield
        except ClientError as error:
            details: Any = error.response
            status = int(details.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            code = str(details.get("Error", {}).get("Code") or status)
            if status in {412, 416} or (name and status == 404 and code != "NoSuchBucket"):
                raise SourceChangedError(what) from error
            text = f"{what}: {code} ({details.get('Error', {}).get('Message', 'no message')})"
            if code in REFUSALS:
                raise ConfigError(f"{text}; {REFUSALS[code]}") from error
            raise TransientError(text) from error
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise ConfigError(f"{what}: {error}; {KEYS_MEND}") from error
        except ResponseParserError as error:
            raise ConfigError(f"{what}: {REFUSALS['404']}") from error
        except (BotoCoreError, OSError) as error:
            raise TransientError(f"{what}: {error}") from error
