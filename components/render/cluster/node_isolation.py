"""What makes nodes of an existing cluster fit for engines: swap off, labels, taints."""

from typing import Final, TypedDict

from pulumi_kubernetes.apps.v1 import DaemonSetSpecArgsDict
from pulumi_kubernetes.core.v1 import (
    ContainerArgsDict,
    NodeSpecPatchArgsDict,
    PodSpecArgsDict,
    TaintPatchArgsDict,
)

from components.render.common import bounded, tolerations
from models.core.names import MANAGED_BY, SWAP_OFF
from models.facts.contract import Image
from models.plan.plan import PlannedPool
from models.settings.regions import POOL_LABEL

_HOST: Final = "/host"
_EVERY_SEC: Final = 300

SCRIPT: Final = f"""\
set -eu
while true; do
  tail -n +2 /proc/swaps | while read -r path rest; do
    echo "switching off $path"
    swapoff "{_HOST}$path"
  done
  if [ "$(wc -l < /proc/swaps)" -le 1 ]; then touch /tmp/off; else rm -f /tmp/off; fi
  sleep {_EVERY_SEC}
done
"""
"""Switches every swap area off, and again where somebody switches one on. A failure ends the
container with swapoff's own words; the probe says that it has worked."""


class _Labels(TypedDict):
    labels: dict[str, str]


def labels() -> dict[str, str]:
    """Return the labels that select the pods."""
    return {"app.kubernetes.io/name": SWAP_OFF}


def swap_off(pools: tuple[PlannedPool, ...], image: Image) -> DaemonSetSpecArgsDict:
    """Return a DaemonSet that keeps swap off on the nodes of these pools.

    Memory that a kubelet has promised to an engine must be memory: a swapped-out page of a pinned
    host buffer, or of Longhorn's engine, takes seconds.
    """
    meta: _Labels = {"labels": {**MANAGED_BY, **labels()}}
    return {
        "selector": {"match_labels": labels()},
        "update_strategy": {"type": "RollingUpdate", "rolling_update": {"max_unavailable": "10%"}},
        "template": {"metadata": {"labels": meta["labels"]}, "spec": _pod(pools, image)},
    }


def _pod(pools: tuple[PlannedPool, ...], image: Image) -> PodSpecArgsDict:
    every = [each for pool in pools for each in tolerations(pool)]
    tolerated = [each for index, each in enumerate(every) if each not in every[:index]]
    names = [pool.name for pool in pools]
    return {
        "automount_service_account_token": False,
        "enable_service_links": False,
        "termination_grace_period_seconds": 5,
        "affinity": {
            "node_affinity": {
                "required_during_scheduling_ignored_during_execution": {
                    "node_selector_terms": [
                        {
                            "match_expressions": [
                                {"key": POOL_LABEL, "operator": "In", "values": names}
                            ]
                        }
                    ]
                }
            }
        },
        "tolerations": tolerated,
        "containers": [_container(image)],
        "volumes": [
            {"name": "host", "host_path": {"path": "/", "type": "Directory"}},
            {"name": "tmp", "empty_dir": {"size_limit": "1Mi"}},
        ],
    }


def _container(image: Image) -> ContainerArgsDict:
    """Return the container. Privileged, since swapoff opens the swap area for writing.

    A block device is open to no other container (device cgroup), and CAP_SYS_ADMIN alone does not
    change that. Nothing else of the host is shared: no network, no processes, no IPC.
    """
    return {
        "name": SWAP_OFF,
        "image": image.reference,
        "image_pull_policy": "IfNotPresent",
        "command": ["sh", "-c", SCRIPT],
        "resources": bounded({"cpu": "10m", "memory": "16Mi", "ephemeral-storage": "16Mi"}),
        "readiness_probe": {
            "exec_": {"command": ["test", "-f", "/tmp/off"]},
            "period_seconds": 10,
            "timeout_seconds": 5,
        },
        "security_context": {
            "privileged": True,
            "run_as_user": 0,
            "read_only_root_filesystem": True,
        },
        "volume_mounts": [
            {"name": "host", "mount_path": _HOST, "mount_propagation": "HostToContainer"},
            {"name": "tmp", "mount_path": "/tmp"},
        ],
    }


def node_spec(pool: PlannedPool) -> NodeSpecPatchArgsDict | None:
    """Return the pool's taints for a node, None where it has none."""
    taints: list[TaintPatchArgsDict] = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect.value}
        if taint.value
        else {"key": taint.key, "effect": taint.effect.value}
        for taint in pool.settings.all_taints
    ]
    return {"taints": taints} if taints else None
