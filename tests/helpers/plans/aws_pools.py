"""An EKS region with a pool of every sort: a plan for tests of pools and roles."""

from collections.abc import Callable
from typing import Any, Final

from models.plan.plan import PlatformPlan
from tests.helpers.plans.dev import dev_plan

ZONES: Final = ("us-east-1a", "us-east-1b", "us-east-1c")
Change = Callable[[dict[str, Any]], None]


def eks_settings(stack: dict[str, Any]) -> None:
    """Turn the dev stack into one region on AWS with a pool of every sort."""
    [region] = stack["regions"]
    region["name"] = "virginia"
    region["cluster"] = {
        "kind": "eks",
        "account_id": "111122223333",
        "aws_region": "us-east-1",
        "version": "1.35",
        "cidr": "10.20.0.0/16",
        "zones": list(ZONES),
        "private_cidrs": ["10.0.0.0/16"],
        "admins": ["arn:aws:iam::111122223333:role/platform-admin"],
    }
    region["pools"] = [
        {
            "name": "gpu-h100-pool",
            "accelerator": "h100-80gb",
            "instance_type": "p5.48xlarge",
            "min": 0,
            "max": 2,
            "taints": [{"key": "team", "value": "research", "effect": "NoExecute"}],
        },
        {
            "name": "gpu-l4-pool",
            "accelerator": "l4",
            "instance_type": "g6.2xlarge",
            "min": 1,
            "max": 8,
        },
        {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 2, "max": 4},
    ]
    region["storage"] = {
        "volumes": "existing-class",
        "storage_class": "shared",
        "objects": {"kind": "s3", "bucket": "weights-virginia", "region": "us-east-1"},
    }
    for model in stack["models"]:
        model["pool"] = "gpu-l4-pool"


def eks_plan(change: Change | None = None) -> PlatformPlan:
    """Return the plan of that region, its settings changed first."""

    def whole(stack: dict[str, Any]) -> None:
        eks_settings(stack)
        if change is not None:
            change(stack)

    return dev_plan(whole)
