"""What a stack finds on AWS: whose it is, by which id, and that a destroy may leave it."""

import io
import json
from typing import Any, Final, cast

import boto3
import pytest
import yaml
from moto import mock_aws

from models.settings.settings import Settings, parse
from sandbox.aws.core.api import Aws
from sandbox.aws.lifecycle import given
from sandbox.aws.lifecycle.side import eks_regions
from sandbox.aws.server import zones
from sandbox.aws.server.wire import Environ, see
from sandbox.core.paths import PROJECT_ROOT

pytestmark = pytest.mark.pure

DEFAULT: Final = "123456789012"
HEADER: Final = "HTTP_X_MOTO_ACCOUNT_ID"


def request(key: str, body: bytes = b"", account: str | None = None) -> Environ:
    """Return a request that is signed with an access key, and may name its account."""
    scope = f"Credential={key}/20261129/us-east-1/secretsmanager/aws4_request, SignedHeaders=host"
    return {
        "HTTP_AUTHORIZATION": f"AWS4-HMAC-SHA256 {scope}",
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/2013-04-01/hostedzone",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **({} if account is None else {HEADER: account}),
    }


def staging() -> Settings:
    """Return the settings of the staging stack."""
    read = yaml.safe_load((PROJECT_ROOT / "Pulumi.staging.yaml").read_text())
    return parse(json.dumps(read["config"]["triplane:platform"]))


@pytest.mark.parametrize(
    ("environ", "account"),
    [
        (request("111122223333"), "111122223333"),
        (request("111122223333", account="444455556666"), "444455556666"),
        (request("stand-in"), DEFAULT),
    ],
)
def test_a_controller_says_whose_it_is_by_its_access_key(environ: Environ, account: str) -> None:
    """It cannot send moto's header, and would find none of its region's secrets."""
    assert see(environ, DEFAULT).account == account
    assert environ.get(HEADER, DEFAULT) == account, "what moto itself looks at"


@mock_aws
def test_a_hosted_zone_has_the_id_that_settings_name() -> None:
    """A record names its zone by the id that AWS gave it."""
    name, wanted = "staging.example.com", "Z0EXAMPLESTAGING"
    reference = f"{zones.REFERENCE}{wanted}"
    body = f"<R><Name>{name}</Name><CallerReference>{reference}</CallerReference></R>"
    environ = request("stand-in", body.encode())
    seen = see(environ, DEFAULT)
    assert seen.operation == zones.CREATE
    zones.keep_id(seen)
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    client = cast("Any", boto3).client("route53", region_name="us-east-1", **keys)
    made = client.create_hosted_zone(Name=name, CallerReference=reference)
    assert made["HostedZone"]["Id"] == f"/hostedzone/{wanted}"
    other = client.create_hosted_zone(Name="other.example.com", CallerReference="x")
    assert other["HostedZone"]["Id"] != made["HostedZone"]["Id"]


def test_a_destroy_leaves_what_was_given_and_nothing_else() -> None:
    """A secret that the stack made, or a record in the zone, would be reported."""
    whole = staging()
    places = [
        (region, cluster, Aws(region=cluster.aws_region, endpoint="http://127.0.0.1:1"))
        for region, cluster in eks_regions(whole)
    ]
    is_given = given.names(iter(places), whole)
    assert is_given("secret triplane/staging/us-east-1/certificate-authority")
    assert is_given("hosted zone Z0EXAMPLESTAGING")
    assert not is_given("secret triplane/staging/us-east-1/other")
    assert not is_given("record A models.staging.example.com. of zone Z0EXAMPLESTAGING")
