"""Storage in the component graph: what is registered for which setting, in what order."""

from collections.abc import Callable
from typing import Any, cast

import pulumi
import pytest

from components.core.guard import refuse
from components.core.waves import Waves
from components.storage.cache_persistence import CachePersistence, CachePersistenceArgs
from components.storage.region import StorageArgs, register_collection, register_storage
from models.core.names import TENANT_LABEL, claim_label
from tests.helpers.plans.dev import dev_plan

pytestmark = pytest.mark.mocks

KEYS = {"AWS_ACCESS_KEY_ID": "planted-user", "AWS_SECRET_ACCESS_KEY": "planted-password"}
PROGRAM = {"__init__.py": "", "__main__.py": "pass"}
Settings = dict[str, Any]
Change = Callable[[Settings, Settings], None]


class Graph(pulumi.runtime.Mocks):
    """Keeps inputs and types by logical name, in the order of registration."""

    def __init__(self) -> None:
        self.inputs: dict[str, dict[str, Any]] = {}
        self.types: dict[str, str] = {}

    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[Any, Any]]:
        inputs = cast("dict[str, Any]", cast("Any", args).inputs)
        self.inputs[args.name], self.types[args.name] = inputs, args.typ
        return f"{args.name}-id", inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], None]:
        raise AssertionError(args.token)

    def named(self, kind: str) -> list[str]:
        """Return the names that objects of a kind have in the cluster, as they were registered."""
        return [
            str(self.inputs[name]["metadata"]["name"])
            for name, typ in self.types.items()
            if typ.rpartition(":")[2] == kind
        ]


class _Region(pulumi.ComponentResource):
    """Stands in for a region, whose other waves are not of interest here."""

    def __init__(self, register: Callable[[Waves], None]) -> None:
        super().__init__("test:storage:Region", "region")
        register(Waves(self, None))


def build(change: Change, *, rendering: bool = False) -> Graph:
    """Register the storage of dev with changed settings."""

    def both(settings: Settings) -> None:
        change(settings, settings["regions"][0]["storage"])

    plan = dev_plan(both)
    graph = Graph()
    pulumi.runtime.set_mocks(graph, project="triplane", stack="dev")
    args = StorageArgs(
        plan=plan,
        region=plan.regions[0],
        program=PROGRAM,
        credentials=None if rendering else KEYS,
    )

    def register(waves: Waves) -> None:
        register_storage("east", args, waves)
        register_collection("east", args, waves)

    cast("Any", pulumi.runtime).test(lambda: _Region(register))()
    return graph


def as_it_is(settings: Settings, storage: Settings) -> None:
    """Leave dev's settings: local-path, an endpoint."""


def on_longhorn(settings: Settings, storage: Settings) -> None:
    storage["volumes"] = "longhorn"
    storage["longhorn"] = {"backup": {"secret": "keys", "bucket": "backups"}}


def with_minio(settings: Settings, storage: Settings) -> None:
    pools = [{"servers": 4, "volumes_per_server": 1, "volume_gib": 50}]
    storage["objects"] = {
        "kind": "minio",
        "bucket": "models",
        "credentials": "config",
        "minio": {"pools": pools},
    }


def with_both(settings: Settings, storage: Settings) -> None:
    on_longhorn(settings, storage)
    with_minio(settings, storage)


def test_each_setting_brings_its_parts_and_no_others() -> None:
    """A class or a tenant that nobody asked for is paid for, and looked after by nobody."""
    plain, longhorn, minio = build(as_it_is), build(on_longhorn), build(with_minio)
    assert plain.named("StorageClass") == ["triplane-local-path"]
    assert longhorn.named("StorageClass") == [
        "triplane-longhorn-models",
        "triplane-longhorn-cache",
    ]
    assert longhorn.named("RecurringJob") == ["triplane"]
    assert longhorn.named("BackupTarget") == ["triplane"]
    assert minio.named("Tenant") == ["objects"]
    assert minio.named("StorageClass") == ["triplane-local-drives", "triplane-local-path"]
    assert build(with_both).named("StorageClass")[-1] == "triplane-longhorn-minio"
    for graph in (plain, longhorn):
        assert graph.named("Tenant") == []
        assert "triplane-objects" not in graph.named("Namespace")


def test_another_class_is_another_claim() -> None:
    """A claim's class never changes; under one name the old one would have to go first, with all
    engines that read it.
    """
    local, longhorn = "models-triplane-local-path", "models-triplane-longhorn-models"
    for change, name in ((as_it_is, local), (with_minio, local), (on_longhorn, longhorn)):
        graph = build(change)
        assert graph.named("PersistentVolumeClaim") == [name]
        job = graph.inputs["east-store-seed-qwen3-8b"]["spec"]["template"]["spec"]
        assert job["volumes"][0]["persistentVolumeClaim"]["claimName"] == name
    jobs = {tuple(build(change).named("Job")) for change in (as_it_is, on_longhorn)}
    assert len(jobs) == 2, "a Job on another volume is another Job"


def test_the_tenant_comes_before_what_is_seeded_from_it() -> None:
    order = list(build(with_both).types)
    classes = order.index("east-longhorn-class-minio")
    tenant = order.index("east-minio-tenant")
    job = order.index("east-store-seed-qwen3-8b")
    assert classes < tenant < job


def test_the_tenants_keys_are_a_secret_and_nowhere_else() -> None:
    graph = build(with_minio)
    secret = graph.inputs["east-minio-config"]["stringData"]
    text = str(secret)
    assert "planted-password" in text
    for name, inputs in graph.inputs.items():
        if not graph.types[name].endswith(":Secret"):
            assert "planted" not in str(inputs), name


def test_rendered_manifests_carry_no_keys() -> None:
    graph = build(with_minio, rendering=True)
    assert graph.named("Tenant") == ["objects"]
    assert graph.named("Secret") == []


def test_the_tenants_namespace_is_restricted_and_closed() -> None:
    graph = build(with_minio)
    labels = graph.inputs["east-minio-namespace"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    policy = graph.inputs["east-minio-allow-clients"]["spec"]
    assert policy["podSelector"] == {}
    budget = graph.inputs["east-minio-budget"]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == {"matchLabels": {"v1.min.io/tenant": "objects"}}


def test_the_tenant_is_waited_for() -> None:
    """Seeding Jobs would run into a store that does not answer, and give up after six tries."""
    annotations = build(with_minio).inputs["east-minio-tenant"]["metadata"]["annotations"]
    assert annotations["pulumi.com/waitFor"] == "jsonpath={.status.currentState}=Initialized"


def test_unused_revisions_are_removed_only_when_asked_for() -> None:
    def asked(_: Settings, storage: Settings) -> None:
        storage["collect"] = "revisions"

    assert not [name for name in build(as_it_is).named("Job") if name.startswith("collect-")]
    jobs = build(asked).named("Job")
    assert jobs[-1].startswith("collect-"), "after everything that it may remove things of"


def test_a_cache_volume_is_shared_and_guarded() -> None:
    plan = dev_plan()
    graph = Graph()
    pulumi.runtime.set_mocks(graph, project="triplane", stack="dev")
    args = CachePersistenceArgs(region=plan.regions[0], size_gib=100)
    cast("Any", pulumi.runtime).test(lambda: CachePersistence("east-cache", args))()
    claim = graph.inputs["east-cache-claim"]
    assert claim["metadata"]["name"] == "kv-cache"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert claim["spec"]["resources"]["requests"]["storage"] == "100Gi"


def claim(size: str) -> dict[str, Any]:
    return {"spec": {"resources": {"requests": {"storage": size}}}}


MODELS_CLAIM = claim_label("models-nvme")
TENANT = "kubernetes:minio.min.io/v2:Tenant"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"


def pools(*shapes: tuple[str, int]) -> dict[str, Any]:
    """Return a tenant's inputs as the engine hands them over: its numbers are floats."""
    made = [
        {"name": name, "servers": float(servers), "volumesPerServer": 1.0}
        for name, servers in shapes
    ]
    return {"spec": {"pools": made}}


def test_the_guard_lets_grow_and_refuses_what_loses() -> None:
    """It runs inside the engine, where the old inputs are: the preview fails with this text."""
    refuse(MODELS_CLAIM, CLAIM, claim("10Gi"), claim("20Gi"), ())
    with pytest.raises(pulumi.RunError) as caught:
        refuse(MODELS_CLAIM, CLAIM, claim("10Gi"), claim("5Gi"), ())
    assert f"{MODELS_CLAIM}: the volume shrinks from 10 to 5 GiB" in str(caught.value)
    refuse(TENANT_LABEL, TENANT, pools(("pool-0", 4)), pools(("pool-0", 4), ("pool-1", 4)), ())
    with pytest.raises(pulumi.RunError, match="servers of pool 'pool-0' changes from 4 to 8"):
        refuse(TENANT_LABEL, TENANT, pools(("pool-0", 4)), pools(("pool-0", 8)), (TENANT_LABEL,))


def test_only_what_can_be_given_up_is_given_up() -> None:
    """A pool that was drained may go; servers that never join are no matter of approval."""
    old, new = pools(("pool-0", 4), ("pool-1", 4)), pools(("pool-0", 4))
    with pytest.raises(pulumi.RunError, match=f'"accept_data_loss": \\["{TENANT_LABEL}"\\]'):
        refuse(TENANT_LABEL, TENANT, old, new, ())
    refuse(TENANT_LABEL, TENANT, old, new, (TENANT_LABEL,))


def test_what_is_not_known_yet_is_left_to_others() -> None:
    """An unknown size is refused by the policy pack; here it must not end the preview by itself."""
    unknown: Any = pulumi.Output.from_input("5Gi")
    refuse(MODELS_CLAIM, CLAIM, claim("10Gi"), claim(unknown), ())
