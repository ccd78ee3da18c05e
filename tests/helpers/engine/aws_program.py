"""What the tests of the stand-in for AWS share: a small program, and pulumi run on it."""

import json
import os
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from sandbox import toolchain
from sandbox.aws.clusters import registry
from sandbox.aws.core.api import Aws
from sandbox.aws.core.home import PlaneNeeds
from sandbox.aws.lifecycle.service import AwsStandIn
from sandbox.cluster.cluster import kubeconfig
from sandbox.core.kube import Object, from_kubeconfig
from sandbox.core.paths import PROJECT_ROOT
from sandbox.engine.workspace import Workspace
from tests.helpers.sandbox.aws_in_process import ACCOUNT, REGION

PROGRAM: Final = """
import json
import os

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s
from pulumi import ResourceOptions

asked = json.loads(os.environ["LAB"])
provider = aws.Provider(
    "aws",
    region="us-east-1",
    allowed_account_ids=["111122223333"],
    default_tags={"tags": {"project": "lab"}},
)
there = ResourceOptions(provider=provider)
pulumi.export(
    "caller", aws.get_caller_identity(opts=pulumi.InvokeOptions(provider=provider)).account_id
)


def trust(service):
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


vpc = aws.ec2.Vpc(
    "vpc", cidr_block="10.0.0.0/16", tags={"Name": asked.get("name", "lab")}, opts=there
)
gateway = aws.ec2.InternetGateway("gateway", vpc_id=vpc.id, opts=there)
subnets = [
    aws.ec2.Subnet(
        f"subnet-{zone}",
        vpc_id=vpc.id,
        cidr_block=f"10.0.{index}.0/24",
        availability_zone=f"us-east-1{zone}",
        opts=there,
    )
    for index, zone in enumerate("ab")
]
group = aws.ec2.SecurityGroup(
    "group", name="lab", description="lab", vpc_id=vpc.id, opts=there
)
aws.vpc.SecurityGroupIngressRule(
    "https",
    security_group_id=group.id,
    cidr_ipv4="10.0.0.0/16",
    ip_protocol="tcp",
    from_port=443,
    to_port=443,
    description="HTTPS",
    opts=there,
)
bucket = aws.s3.Bucket("bucket", bucket="lab-weights", opts=there)
aws.s3.BucketVersioning(
    "versions",
    bucket=bucket.bucket,
    versioning_configuration={"status": "Enabled"},
    opts=there,
)
if asked.get("small"):
    raise SystemExit(0)
role = aws.iam.Role(
    "cluster-role", name="lab-cluster", assume_role_policy=trust("eks.amazonaws.com"), opts=there
)
attached = aws.iam.RolePolicyAttachment(
    "attached",
    role=role.name,
    policy_arn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy",
    opts=there,
)
node = aws.iam.Role("node-role", assume_role_policy=trust("ec2.amazonaws.com"), opts=there)
ids = [each.id for each in subnets]
cluster = aws.eks.Cluster(
    "cluster",
    name="lab",
    role_arn=role.arn,
    version=asked.get("version", "1.34"),
    vpc_config={"subnet_ids": ids},
    access_config={"authentication_mode": "API"},
    opts=ResourceOptions(provider=provider, depends_on=[attached]),
)
template = aws.ec2.LaunchTemplate(
    "template",
    name="lab",
    block_device_mappings=[
        {"device_name": "/dev/xvda", "ebs": {"volume_size": 200, "encrypted": "true"}}
    ],
    opts=there,
)
nodes = aws.eks.NodeGroup(
    "nodes",
    cluster_name=cluster.name,
    node_group_name=asked.get("group"),
    node_role_arn=node.arn,
    subnet_ids=list(reversed(ids)) if asked.get("reversed") else ids,
    instance_types=[asked.get("machine", "g6.2xlarge")],
    ami_type=asked.get("image", "AL2023_x86_64_NVIDIA"),
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
    scaling_config={
        "min_size": 0,
        "desired_size": asked.get("desired", 0),
        "max_size": asked.get("max", 2),
    },
    labels={"pool": asked.get("pool", "a")},
    taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    opts=there,
)
group_name = nodes.resources.apply(lambda made: made[0].autoscaling_groups[0].name or "")
aws.autoscaling.Tag(
    "fact",
    autoscaling_group_name=group_name,
    tag={"key": "k8s.io/x", "value": "1", "propagate_at_launch": False},
    opts=there,
)
arguments = ["eks", "get-token", "--cluster-name", "lab", "--region", "us-east-1"]
kubeconfig = pulumi.Output.all(cluster.endpoint, cluster.certificate_authority.data).apply(
    lambda found: json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "lab",
                    "cluster": {"server": found[0], "certificate-authority-data": found[1]},
                }
            ],
            "users": [
                {
                    "name": "lab",
                    "user": {
                        "exec": {
                            "apiVersion": "client.authentication.k8s.io/v1beta1",
                            "command": "aws",
                            "args": arguments,
                            "interactiveMode": "Never",
                        }
                    },
                }
            ],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "current-context": "lab",
        }
    )
)
inside = k8s.Provider(
    "inside",
    kubeconfig=pulumi.Output.secret(kubeconfig),
    cluster_identifier="arn:aws:eks:us-east-1:111122223333:cluster/lab",
    opts=ResourceOptions(depends_on=[cluster, nodes]),
)
labels = {"app": "lab"}
container = {
    "name": "main",
    "image": "registry.invalid/x:1",
    "resources": {"limits": {"nvidia.com/gpu": "1"}},
}
k8s.apps.v1.Deployment(
    "engine",
    metadata={"name": "engine", "namespace": "default"},
    spec={
        "replicas": 1,
        "selector": {"match_labels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                "containers": [container],
            },
        },
    },
    opts=ResourceOptions(provider=inside),
)
pulumi.export("endpoint", cluster.endpoint)
"""


@dataclass
class AwsLab:
    """One stack of the small program, with a stand-in of its own. `asked` varies the program."""

    folder: Path
    label: str
    asked: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def stand_in(self) -> AwsStandIn:
        return AwsStandIn(label=self.label, tools=toolchain.ensure(lambda _: None))

    @property
    def workspace(self) -> Workspace:
        variables = {**self.stand_in.variables(), "LAB": json.dumps(self.asked)}
        return Workspace(
            home=self.folder, stack="lab", toolchain=self.stand_in.tools, variables=variables
        )

    def start(self) -> None:
        """Start moto and write the project."""
        self.stand_in.start({REGION: PlaneNeeds(crd_sets=())})
        project = self.workspace.project
        for folder in (project, self.folder / "backend"):
            folder.mkdir(exist_ok=True)
        (project / "__main__.py").write_text(PROGRAM)
        runtime = {"name": "python", "options": {"virtualenv": str(PROJECT_ROOT / ".venv")}}
        (project / "Pulumi.yaml").write_text(json.dumps({"name": "lab", "runtime": runtime}))
        self.run("stack", "select", "--create", "lab")

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run pulumi and return what it printed; fails where the exit code is another."""
        done = self.workspace.attempt(arguments, quiet=True)
        text = done.stdout + done.stderr
        assert done.returncode == code, text
        return text if code or done.stderr.strip() else done.stdout

    def up(self, *arguments: str, code: int = 0) -> str:
        return self.run("up", "--yes", "--skip-preview", *arguments, code=code)

    def unchanged(self) -> None:
        """Fail where another update would change something."""
        self.up("--expect-no-changes")

    def outputs(self) -> dict[str, Any]:
        return json.loads(self.run("stack", "output", "--json"))

    def pods(self) -> dict[str, str]:
        """Return the nodes of the running pods, by the pods' names."""
        (entry,) = registry.of(self.stand_in.home).entries()
        with from_kubeconfig(kubeconfig(entry.sandbox)) as api:
            found = api.list("/api/v1/namespaces/default/pods")
        return {
            str(each["metadata"]["name"]): str(each["spec"]["nodeName"])
            for each in found
            if each["status"].get("phase") == "Running"
            and "deletionTimestamp" not in each["metadata"]
        }

    def nodes(self) -> list[Object]:
        """Return the nodes of the cluster, by the API server."""
        (entry,) = registry.of(self.stand_in.home).entries()
        with from_kubeconfig(kubeconfig(entry.sandbox)) as api:
            return api.list("/api/v1/nodes")

    def resources(self) -> dict[str, dict[str, Any]]:
        """Return the state's resources by their names."""
        state = json.loads(self.run("stack", "export"))["deployment"]
        found = cast("list[dict[str, Any]]", state.get("resources", []))
        return {each["urn"].rpartition("::")[2]: each for each in found}

    def aws(self, region: str = REGION) -> Aws:
        """Return moto, as an administrator with other tools would reach it."""
        _, endpoint = self.stand_in.home.read_config()
        return Aws(region=region, endpoint=endpoint, account=ACCOUNT)

    def preview(self, **asked: Any) -> dict[str, str]:
        """Return what a preview with these changes would do to each resource, by name."""
        before = dict(self.asked)
        self.asked |= asked
        try:
            told = json.loads(self.run("preview", "--json"))
        finally:
            self.asked = before
        steps = cast("list[dict[str, Any]]", told["steps"])
        return {
            each["urn"].rpartition("::")[2]: each["op"] for each in steps if each["op"] != "same"
        }


@contextmanager
def lab(folder: Path) -> Generator[AwsLab]:
    """Yield a started lab; nothing of it is left afterwards."""
    made = AwsLab(folder=folder, label=f"test-{os.getpid()}-{secrets.token_hex(3)}")
    try:
        os.environ["SANDBOX"] = "1"
        made.start()
        yield made
    finally:
        os.environ.pop("SANDBOX", None)
        made.stand_in.purge(lambda _: None)


def until(check: Callable[[], object], what: str, timeout_sec: float = 60.0) -> None:
    """Wait until `check` answers something true; fail naming `what` when it never does."""
    deadline = time.monotonic() + timeout_sec
    while not check():
        assert time.monotonic() < deadline, f"not within {timeout_sec:.0f} s: {what}"
        time.sleep(0.1)
