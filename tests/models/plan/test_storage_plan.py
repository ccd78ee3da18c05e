"""Storage, resolved and proven: copies and nodes, drives and sets, one interface for stores."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.core.problems import ProblemsError
from models.plan.changes import losses
from models.plan.object_store import store_of
from models.plan.plan import PlannedRegion
from models.plan.storage.proofs import PoolFacts, storage_index
from models.plan.storage.resolved import (
    replicas,
    storage_class,
    storage_labels,
    storage_pool,
    usable_gib,
)
from models.settings.longhorn import LonghornSettings, VolumeUse, replica_count
from models.settings.minio import SET_SIZES, erasure_set, topology_faults
from models.settings.settings import parse
from tests.helpers.plans.dev import dev_plan, dev_settings

pytestmark = pytest.mark.pure

Settings = dict[str, Any]
Change = Callable[[Settings, Settings], None]
MINIO = {"pools": [{"servers": 4, "volumes_per_server": 1, "volume_gib": 50}]}


def region(change: Change) -> PlannedRegion:
    """Return dev's region with changed settings and storage."""

    def both(settings: Settings) -> None:
        change(settings, settings["regions"][0]["storage"])

    return dev_plan(both).regions[0]


def refused(change: Change) -> str:
    """Return the text of what stands against changed settings."""
    with pytest.raises(ProblemsError) as caught:
        region(change)
    return str(caught.value)


def on_longhorn(settings: Settings, storage: Settings) -> None:
    storage["volumes"] = "longhorn"


def with_minio(settings: Settings, storage: Settings) -> None:
    storage["objects"] = {
        "kind": "minio",
        "bucket": "models",
        "credentials": "config",
        "minio": json.loads(json.dumps(MINIO)),
    }


def cpu_pool(settings: Settings) -> Settings:
    return settings["regions"][0]["pools"][2]


@pytest.mark.parametrize(
    ("asked", "nodes", "kept"),
    [(None, 0, 1), (None, 1, 1), (None, 2, 2), (None, 3, 3), (None, 9, 3), (2, 5, 2), (1, 9, 1)],
)
def test_copies_are_never_more_than_nodes(asked: int | None, nodes: int, kept: int) -> None:
    """A volume with more copies than nodes stays degraded forever."""
    assert replica_count(LonghornSettings(replicas=asked), nodes) == kept


def test_volumes_lie_on_the_first_pool_without_gpus_that_stays() -> None:
    """LH-04: a spot pool may be listed first; its nodes are taken back at any time."""

    def facts(name: str, gpus: int, capacity: str) -> PoolFacts:
        return PoolFacts(name=name, gpus=gpus, min=1, capacity=capacity, ami="al2023")

    gpu, cheap = facts("gpu", 1, "on-demand"), facts("cheap", 0, "spot")
    steady = facts("steady", 0, "on-demand")
    assert storage_index([gpu, cheap, steady]) == 2
    assert storage_index([gpu, cheap]) == 1, "refused later, with the pool's name"
    assert storage_index([gpu]) is None


def test_only_the_nodes_that_carry_volumes_are_labeled() -> None:
    """A node with the label gets a disk of Longhorn's: on a GPU node it would serve everybody."""

    def change(settings: Settings, storage: Settings) -> None:
        on_longhorn(settings, storage)
        cpu_pool(settings)["min"] = 2

    made = region(change)
    assert storage_pool(made).name == "cpu-pool"
    assert replicas(made) == 2
    labels = {pool.name: storage_labels(made, pool) for pool in made.pools}
    carrying = [name for name, found in labels.items() if found]
    assert carrying == ["cpu-pool"]
    assert labels["cpu-pool"] == {"node.longhorn.io/create-default-disk": "true"}


def test_one_setting_changes_the_class_of_the_volumes() -> None:
    def existing(_: Settings, storage: Settings) -> None:
        storage.update(volumes="existing-class", storage_class="shared-nfs")

    assert storage_class(region(_storage()), VolumeUse.MODELS) == "triplane-local-path"
    assert storage_class(region(on_longhorn), VolumeUse.MODELS) == "triplane-longhorn-models"
    assert storage_class(region(on_longhorn), VolumeUse.CACHE) == "triplane-longhorn-cache"
    assert storage_class(region(existing), VolumeUse.MODELS) == "shared-nfs"


def test_a_tenants_drives_have_a_class_of_their_own() -> None:
    def named(settings: Settings, storage: Settings) -> None:
        with_minio(settings, storage)
        storage["objects"]["minio"]["storage_class"] = "nvme"

    def both(settings: Settings, storage: Settings) -> None:
        on_longhorn(settings, storage)
        with_minio(settings, storage)

    assert storage_class(region(with_minio), VolumeUse.MINIO) == "triplane-local-drives"
    assert storage_class(region(both), VolumeUse.MINIO) == "triplane-longhorn-minio"
    assert storage_class(region(named), VolumeUse.MINIO) == "nvme"


@pytest.mark.parametrize(
    ("objects", "endpoint", "path_style"),
    [
        ({"kind": "s3", "bucket": "b01"}, None, False),
        ({"kind": "s3", "bucket": "b01", "path_style": True}, None, True),
        ({"kind": "endpoint", "bucket": "b01", "endpoint": "http://seaweed:8333"}, None, True),
        (
            {
                "kind": "endpoint",
                "bucket": "b01",
                "endpoint": "https://store.example",
                "path_style": False,
            },
            "https://store.example",
            False,
        ),
        (
            {"kind": "minio", "bucket": "b01", "credentials": "config", "minio": MINIO},
            "http://minio.triplane-objects.svc.cluster.local",
            True,
        ),
        (
            {
                "kind": "minio",
                "bucket": "b01",
                "credentials": "config",
                "minio": {**MINIO, "tls_secret": "objects-tls"},
            },
            "https://minio.triplane-objects.svc.cluster.local",
            True,
        ),
    ],
)
def test_every_store_is_seen_alike(
    objects: Settings, endpoint: str | None, path_style: bool
) -> None:
    """Switching from one to another is a setting, and nothing else of the stack changes."""

    def change(_: Settings, storage: Settings) -> None:
        storage["objects"] = objects

    store = store_of(region(change).settings.storage.objects)
    assert store.endpoint == (endpoint or objects.get("endpoint"))
    assert store.path_style is path_style
    assert store.source("tiny", "r1") == "s3://b01/models/tiny/r1/"


def _storage(**changes: Any) -> Change:
    def change(_: Settings, storage: Settings) -> None:
        storage.update(changes)

    return change


def _nodes(**changes: Any) -> Change:
    def change(settings: Settings, storage: Settings) -> None:
        on_longhorn(settings, storage)
        cpu_pool(settings).update(changes)

    return change


def _objects(**changes: Any) -> Change:
    def change(settings: Settings, storage: Settings) -> None:
        with_minio(settings, storage)
        storage["objects"].update(changes)

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_objects(credentials="pod-identity"), "needs credentials 'config'"),
        (_objects(endpoint="http://x"), "leave endpoint out"),
        (_objects(kind="s3"), "and the key minio do not fit"),
        (_objects(minio=None), "and the key minio do not fit"),
        (
            _objects(minio={"pools": [{"servers": 3, "volumes_per_server": 7, "volume_gib": 9}]}),
            "MINIO-02",
        ),
        (
            _objects(minio={"pools": [{"servers": 4, "volumes_per_server": 1, "volume_gib": 1}]}),
            "the drives hold less than the weights",
        ),
        (_objects(minio={**MINIO, "cpu": 4}), "2 servers share a node of pool 'cpu-pool'"),
        (_objects(minio={**MINIO, "memory_gib": 32}), "and ask for more than it has left"),
        (_storage(longhorn={"replicas": 2}), "the key longhorn does nothing"),
        (_storage(volumes="longhorn", storage_class="x"), "makes its own classes"),
        (
            _storage(volumes="longhorn", longhorn={"replicas": 2}),
            "2 copies of each block need as many storage nodes",
        ),
        (_nodes(min=0), "may have no node (min 0)"),
        (_nodes(capacity_type="spot"), "volumes would lie on spot nodes"),
    ],
)
def test_storage_that_cannot_be_is_refused(change: Change, says: str) -> None:
    assert says in refused(change)


def test_a_backup_on_the_volumes_it_backs_up_is_refused() -> None:
    def change(settings: Settings, storage: Settings) -> None:
        on_longhorn(settings, storage)
        with_minio(settings, storage)
        storage["longhorn"] = {"backup": {"secret": "backup-keys"}}

    assert "name a bucket outside the cluster" in refused(change)

    def outside(settings: Settings, storage: Settings) -> None:
        change(settings, storage)
        storage["longhorn"]["backup"].update(bucket="backups", region="eu-central-1")

    assert region(outside).settings.storage.longhorn.backup is not None


def test_bottlerocket_and_longhorn_are_refused_together() -> None:
    """LH-02, by the program; the pack says the same of node groups."""
    settings = dev_settings()
    here = settings["regions"][0]
    here["cluster"] = {
        "kind": "eks",
        "aws_region": "us-east-1",
        "version": "1.33",
        "cidr": "10.20.0.0/16",
        "zones": ["us-east-1a", "us-east-1b"],
        "account_id": "123456789012",
        "admins": ["arn:aws:iam::123456789012:role/platform"],
        "private_cidrs": ["10.20.0.0/16"],
    }
    here["storage"]["volumes"] = "longhorn"
    here["pools"] = [
        {
            "name": "gpu-l4-pool",
            "accelerator": "l4",
            "instance_type": "g6.2xlarge",
            "min": 1,
            "max": 3,
            "ami": "bottlerocket",
        },
        {"name": "cpu-pool", "instance_type": "m7i.2xlarge", "min": 1, "max": 2},
    ]
    settings["models"] = [each for each in settings["models"] if each["pool"] == "gpu-l4-pool"]
    parse(json.dumps(settings))

    def change(changed: Settings) -> None:
        changed.clear()
        changed.update(settings)

    with pytest.raises(ProblemsError, match="pool 'gpu-l4-pool' runs Bottlerocket"):
        dev_plan(change)


SERVERS = st.integers(1, 32)
DRIVES = st.integers(1, 16)


@given(SERVERS, DRIVES)
def test_a_set_size_divides_drives_and_spreads_evenly(servers: int, drives: int) -> None:
    """Brute force over what the server's own code accepts."""
    sizes = [
        size
        for size in SET_SIZES
        if servers * drives % size == 0 and max(size, servers) % min(size, servers) == 0
    ]
    assert erasure_set(servers, drives) == (sizes[-1] if sizes else None)


@given(st.lists(st.tuples(SERVERS, DRIVES), min_size=1, max_size=3))
def test_a_tenant_without_faults_has_a_set_everywhere(pools: list[tuple[int, int]]) -> None:
    if topology_faults(tuple(pools), standalone=False):
        return
    first = erasure_set(*pools[0])
    assert first is not None
    assert all(servers * drives % first == 0 for servers, drives in pools)


@pytest.mark.parametrize(
    ("shape", "usable"),
    [
        ((4, 1, 100), 200),
        ((1, 1, 100), 100),
        ((8, 1, 100), 400),
        ((4, 4, 10), 120),
        ((6, 1, 10), 30),
    ],
)
def test_parity_is_no_room_for_weights(shape: tuple[int, int, int], usable: int) -> None:
    """By the server's own table: 2 of 4 drives, 3 of 6, 4 of 8 and more."""
    servers, drives, gib = shape
    assert usable_gib(servers, drives, gib, erasure_set(servers, drives)) == usable


@given(st.integers(1, 4096), st.integers(1, 4096))
def test_exactly_shrinking_loses(was: int, now: int) -> None:
    def claim(gib: int) -> Settings:
        return {"spec": {"resources": {"requests": {"storage": f"{gib}Gi"}}}}

    assert bool(losses("PersistentVolumeClaim", claim(was), claim(now))) == (now < was)


def test_other_spellings_of_one_size_are_no_change() -> None:
    old = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    new = {"spec": {"resources": {"requests": {"storage": "1048576Ki"}}}}
    assert losses("PersistentVolumeClaim", old, new) == []


@given(
    st.sampled_from(["PersistentVolumeClaim", "Tenant", "StatefulSet", "Release"]),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["spec", "pools", "name", "resources", "requests", "storage"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    ),
)
def test_no_shape_makes_the_judgement_raise(kind: str, body: Any) -> None:
    """It runs inside the engine's update, over whatever a program registers."""
    whole = {"spec": body, "version": body, "chart": "longhorn"}
    losses(kind, whole, whole)
    losses(kind, whole, {"spec": None})
