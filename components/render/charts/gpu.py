"""Values of the NVIDIA GPU operator, derived from the region's pools.

What a machine brings (driver, toolkit, device plugin) is switched off where every GPU pool brings
it. Where pools differ it stays on, and the nodes that bring it say so by a label that the operator
keeps (`models/plan/accelerator_nodes.py`).
"""

import json
from collections.abc import Iterable
from typing import Any, Final, TypedDict

from components.render.charts.counters import COUNTERS
from models.facts.mirroring import mirrored
from models.facts.sharing import GPU_RESOURCE, WHOLE_CONFIG, Mig, TimeSlicing, plugin_config
from models.plan.accelerator_nodes import Operand, wanted
from models.plan.plan import PlannedPool, PlannedRegion, PlatformPlan
from models.settings.regions import Taint

_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
_PLUGIN_CONFIG: Final = "device-plugin-config"
_COUNTERS_CONFIG: Final = "dcgm-exporter-counters"

_IMAGES: Final = {
    "validator": "nvcr.io/nvidia",
    "operator": "nvcr.io/nvidia",
    "driver": "nvcr.io/nvidia",
    "toolkit": "nvcr.io/nvidia/k8s",
    "devicePlugin": "nvcr.io/nvidia",
    "dcgmExporter": "nvcr.io/nvidia/k8s",
    "gfd": "nvcr.io/nvidia",
    "migManager": "nvcr.io/nvidia/cloud-native",
}
"""Where upstream's values take each image from: the repository there is a folder."""


class Toleration(TypedDict, total=False):
    """A toleration in the API's own spelling, as charts take it."""

    key: str
    operator: str
    value: str
    effect: str


def tolerations(pools: Iterable[PlannedPool]) -> list[Toleration]:
    """Return tolerations for exactly the taints of the pools, each once."""
    taints: dict[Taint, None] = dict.fromkeys(
        taint for pool in pools for taint in pool.settings.all_taints
    )
    return [
        {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect.value}
        if taint.value
        else {"key": taint.key, "operator": "Exists", "effect": taint.effect.value}
        for taint in taints
    ]


def gpu_operator(plan: PlatformPlan, region: PlannedRegion) -> dict[str, Any]:
    """Return the operator's values for the GPU pools of a region.

    The operator and feature discovery's master stay off GPU nodes; everything that has to reach
    them tolerates their taints: operands (`daemonsets`) and feature discovery's worker, whose
    labels the rest waits for.
    """
    pools = [pool for pool in region.pools if pool.accelerator is not None]
    tolerated = tolerations(pools)
    has_mig = any(isinstance(pool.settings.sharing, Mig) for pool in pools)
    values: dict[str, Any] = {
        "operator": {"tolerations": [_control_plane(), *tolerated], "upgradeCRD": True},
        "daemonsets": {"tolerations": tolerated},
        "node-feature-discovery": {"worker": {"tolerations": [_control_plane(), *tolerated]}},
        "driver": {"enabled": wanted(Operand.DRIVER, pools)},
        "toolkit": {"enabled": wanted(Operand.TOOLKIT, pools)},
        "devicePlugin": _device_plugin(pools),
        "mig": {"strategy": "single"},
        "migManager": {"enabled": has_mig},
        "dcgmExporter": _exporter(plan),
        # Machines that run no virtual machines and no confidential computing need none of these.
        "vgpuDeviceManager": {"enabled": False},
        "vfioManager": {"enabled": False},
        "sandboxDevicePlugin": {"enabled": False},
        "kataSandboxDevicePlugin": {"enabled": False},
        "ccManager": {"enabled": False},
    }
    registry = plan.mirror.registry
    if registry is not None:
        for part, folder in _IMAGES.items():
            values.setdefault(part, {})["repository"] = mirrored(folder, registry)
        image = mirrored("registry.k8s.io/nfd/node-feature-discovery", registry)
        values["node-feature-discovery"]["image"] = {"repository": image}
    return values


def _control_plane() -> Toleration:
    return {"key": _CONTROL_PLANE, "operator": "Equal", "value": "", "effect": "NoSchedule"}


def _device_plugin(pools: list[PlannedPool]) -> dict[str, Any]:
    values: dict[str, Any] = {"enabled": wanted(Operand.DEVICE_PLUGIN, pools)}
    if any(pool.settings.sharing is not None for pool in pools):
        configs = {WHOLE_CONFIG: _plugin_file(None)}
        configs |= {
            plugin_config(p.settings.sharing): _plugin_file(p.settings.sharing) for p in pools
        }
        values["config"] = {
            "create": True,
            "name": _PLUGIN_CONFIG,
            "default": WHOLE_CONFIG,
            "data": configs,
        }
    return values


def _plugin_file(sharing: Mig | TimeSlicing | None) -> str:
    """Return a configuration of the device plugin (version v1) as text; JSON is YAML.

    A pod that asks for more turns of one card than one is refused: they would be the same card.
    """
    body: dict[str, Any] = {"version": "v1"}
    if isinstance(sharing, Mig):
        body["flags"] = {"migStrategy": sharing.strategy.value}
    elif isinstance(sharing, TimeSlicing):
        body["sharing"] = {
            "timeSlicing": {
                "renameByDefault": False,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": GPU_RESOURCE, "replicas": sharing.replicas}],
            }
        }
    return json.dumps(body)


def _exporter(plan: PlatformPlan) -> dict[str, Any]:
    """Return the exporter's values: our counters, and labels that join with the engine's series.

    `honorLabels` keeps namespace, pod and container of the pod that uses the card; Prometheus would
    rename them to exported_*, and no rule could join them with `vllm:` series.
    """
    interval = plan.observability.scrape_interval_sec
    return {
        "enabled": True,
        "config": {"create": True, "name": _COUNTERS_CONFIG, "data": COUNTERS},
        "serviceMonitor": {
            "enabled": True,
            "interval": f"{interval}s",
            "scrapeTimeout": f"{min(interval, 10)}s",
            "honorLabels": True,
            "additionalLabels": dict(plan.observability.monitor_labels),
        },
    }
