"""What is imported only where it is needed: each test asks a Python of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.process

ROOT: Final = Path(__file__).resolve().parents[2]


HEAVY: Final = (
    *("pulumi", "grpc", "boto3", "botocore", "moto", "policy_sentry", "requests", "numpy"),
    *("psutil", "hypothesis", "pytest"),
)
"""Packages that no answer about memory needs, each of them slower to import than the answer."""


def test_an_answer_imports_nothing_that_it_does_not_need() -> None:
    """What a cold start takes is measured by `make bench`; what it loads is held here."""
    program = (
        "import sys; from cli.__main__ import main;"
        "code = main(['budget', 'qwen3-8b', '--gpu', 'l4', '--max-model-len', '8192', '--json']);"
        f"print(code, [m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stderr.strip() == "0 []"
    assert json.loads(ran.stdout)["verdict"] == "fits"


def test_the_tools_do_not_load_pulumi() -> None:
    """A tool that takes seconds to start is not used; pulumi alone takes one."""
    code = (
        "import sys; from cli.__main__ import main; "
        "code = main(['select', 'qwen3-06b', '--env', 'dev', '--gpu', 'l4', '--json']); "
        "sys.exit(code or any(name.split('.')[0] == 'pulumi' for name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_list_of_actions_is_read_only_where_a_document_is_seen() -> None:
    """13 MB of JSON at every start of the pack would be felt in every preview."""
    code = (
        "import sys; import policies.frame.pack, policies.frame.evaluate as e, "
        "policies.core.context as c\nfrom policies.views.aws.resource import AwsResource\nfrom "
        "policies.core.nodes import Node\ne.aws_findings([AwsResource(kind='ec2.Vpc', name='v', "
        "body=Node({}))], c.Context())\nprint([m for m in ('policy_sentry', 'pulumi_aws', "
        "'boto3') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_stack_without_aws_does_not_import_its_sdk() -> None:
    """It takes longer to import than such a stack takes to preview."""
    program = "import sys, components.platform; sys.exit('pulumi_aws' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def test_importing_the_toolchain_stays_cheap() -> None:
    """`make up` asks it every time: gRPC and the SDK may not be loaded for a cached toolchain."""
    code = "import json, sys, sandbox.toolchain; print(json.dumps(sorted(sys.modules)))"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=ROOT)
    assert not {"grpc", "pulumi"} & set(json.loads(done.stdout))
