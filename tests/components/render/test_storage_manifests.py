"""Manifests of storage: values and classes of Longhorn, the tenant, Jobs that seed and collect."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components.render.storage import longhorn, minio
from components.render.storage import model_store as storage
from models.plan.plan import PlatformPlan
from models.settings.longhorn import VolumeUse
from models.settings.regions import GPU_TAINT_KEY, Taint, TaintEffect
from tests.helpers.plans.dev import dev_plan

pytestmark = pytest.mark.pure

PROGRAM = {"__main__.py": "a"}
SAMPLES = Path(__file__).parents[4] / "shared" / "data" / "sample-crs.yaml"


def plan(**changes: Any) -> PlatformPlan:
    """Return dev's plan on Longhorn with a tenant; `changes` are of the storage's settings."""

    def change(settings: dict[str, Any]) -> None:
        here = settings["regions"][0]
        pools = [{"servers": 4, "volumes_per_server": 1, "volume_gib": 50}]
        here["storage"] = {
            "volumes": "longhorn",
            "objects": {
                "kind": "minio",
                "bucket": "models",
                "credentials": "config",
                "minio": {"pools": pools, "cpu": 1},
            },
        }
        for path, value in changes.items():
            node = here if path.startswith("pools") else here["storage"]
            *way, last = path.split("__")
            for key in way:
                node = node[int(key)] if key.isdigit() else node.setdefault(key, {})
            node[last] = value

    return dev_plan(change)


def values(**changes: Any) -> dict[str, Any]:
    made = plan(**changes)
    return longhorn.values(made, made.regions[0])


def test_taints_are_tolerated_in_both_forms() -> None:
    """LH-01: one without the other leaves GPU nodes without the CSI plugin."""
    found = values(pools__2__taints=[{"key": "storage", "effect": "NoExecute"}])
    text = found["defaultSettings"]["taintToleration"]
    assert text == "nvidia.com/gpu=present:NoSchedule;storage:NoExecute"
    for part in ("longhornManager", "longhornDriver"):
        assert found[part]["tolerations"] == [
            {
                "key": GPU_TAINT_KEY,
                "operator": "Equal",
                "value": "present",
                "effect": "NoSchedule",
            },
            {"key": "storage", "operator": "Exists", "effect": "NoExecute"},
        ]


TAINTS = st.builds(
    Taint,
    key=st.from_regex(r"[a-z][a-z.]{0,8}(/[a-z]{1,8})?", fullmatch=True),
    value=st.from_regex(r"[a-z0-9]{0,6}", fullmatch=True),
    effect=st.sampled_from(TaintEffect),
)


@given(st.lists(TAINTS, max_size=4))
def test_the_text_form_reads_back(taints: list[Taint]) -> None:
    """As Longhorn reads it: by semicolons, the last colon before the effect, the first equals."""
    text = longhorn.toleration_text(taints)
    read: list[tuple[str, str, str]] = []
    for part in filter(None, text.split(";")):
        left, effect = part.rsplit(":", 1)
        key, _, value = left.partition("=")
        read.append((key, value, effect))
    assert read == [(taint.key, taint.value, taint.effect.value) for taint in taints]


def test_the_charts_class_and_upgrade_hook_are_off() -> None:
    """A default class that nobody chose takes the volumes of every other chart."""
    found = values()
    assert found["persistence"] == {"createStorageClass": False, "defaultClass": False}
    assert found["preUpgradeChecker"] == {"jobEnabled": False}
    assert found["defaultSettings"]["createDefaultDiskLabeledNodes"] is True
    assert "global" not in found


def test_a_mirror_serves_every_image() -> None:
    def change(settings: dict[str, Any]) -> None:
        settings["mirror"] = {"registry": "mirror.example"}

    made = dev_plan(change)
    assert longhorn.values(made, made.regions[0])["global"] == {"imageRegistry": "mirror.example"}
    operator = minio.operator_values(made, made.regions[0])["operator"]
    assert operator["image"]["repository"] == "mirror.example/minio/operator"
    assert operator["sidecarImage"]["repository"] == "mirror.example/minio/operator-sidecar"
    job = cast(
        "dict[str, Any]",
        storage.seed_job(made.regions[0], made.regions[0].models[0], PROGRAM, "mirror.example"),
    )
    image = job["template"]["spec"]["containers"][0]["image"]
    assert image.startswith("mirror.example/vllm/vllm-openai:")


def test_shared_volumes_are_served_from_the_storage_nodes() -> None:
    """LH-04: the share manager of weights must be on no GPU node and on no spot node."""
    region = plan(pools__2__taints=[{"key": "storage"}]).regions[0]
    for use in (VolumeUse.MODELS, VolumeUse.CACHE):
        made = longhorn.storage_class(region, use)
        assert made["parameters"]["shareManagerNodeSelector"] == "triplane.dev/pool:cpu-pool"
        assert made["parameters"]["shareManagerTolerations"] == "storage:NoSchedule"
        assert made["reclaim_policy"] == "Delete"
        assert made["allow_volume_expansion"] is True
    assert "nfsOptions" not in longhorn.storage_class(region, VolumeUse.MODELS)["parameters"]
    tuned = plan(longhorn__nfs_options="vers=4.1,softerr").regions[0]
    assert longhorn.storage_class(tuned, VolumeUse.MODELS)["parameters"]["nfsOptions"] == (
        "vers=4.1,softerr"
    )


def test_copies_follow_the_nodes_and_every_parameter_is_text() -> None:
    region = plan(pools__2__min=2).regions[0]
    made = longhorn.storage_class(region, VolumeUse.MODELS)
    assert made["parameters"]["numberOfReplicas"] == "2"
    assert all(type(value) is str for value in made["parameters"].values())


def test_drives_are_local_single_copies_and_stay() -> None:
    """MinIO keeps several copies itself; below it, each further copy is paid for nothing."""
    made = longhorn.storage_class(plan(pools__2__min=2).regions[0], VolumeUse.MINIO)
    assert made["parameters"]["numberOfReplicas"] == "1"
    assert made["parameters"]["dataLocality"] == "strict-local"
    assert made["reclaim_policy"] == "Retain"
    assert made["volume_binding_mode"] == "WaitForFirstConsumer"
    one = [{"servers": 1, "volumes_per_server": 1, "volume_gib": 50}]
    alone = plan(pools__2__min=2, objects__minio__pools=one).regions[0]
    assert longhorn.storage_class(alone, VolumeUse.MINIO)["parameters"]["numberOfReplicas"] == "2"


def test_backups_take_the_volumes_that_are_named() -> None:
    region = plan(
        longhorn__backup={
            "secret": "backup-keys",
            "bucket": "backups",
            "region": "eu-central-1",
            "retain": 3,
        }
    ).regions[0]
    target, job = longhorn.backup_target(region), longhorn.recurring_job(region)
    assert target == {
        "backupTargetURL": "s3://backups@eu-central-1/longhorn/",
        "credentialSecret": "backup-keys",
        "pollInterval": "5m0s",
    }
    assert job is not None
    assert (job["task"], job["retain"], job["groups"]) == ("backup", 3, ["triplane"])
    drives = longhorn.storage_class(region, VolumeUse.MINIO)["parameters"]
    assert json.loads(drives["recurringJobSelector"]) == [{"name": "triplane", "isGroup": True}]
    assert drives["backupTargetName"] == "triplane"
    assert (
        "recurringJobSelector" not in longhorn.storage_class(region, VolumeUse.MODELS)["parameters"]
    )
    assert longhorn.backup_target(plan().regions[0]) is None


def test_a_tenant_is_restricted_bounded_and_apart() -> None:
    region = plan().regions[0]
    made = minio.tenant(region, None)
    (pool,) = made["pools"]
    assert made["image"].startswith("quay.io/minio/minio:RELEASE.")
    assert "@sha256:" in made["image"]
    assert made["configuration"] == {"name": "objects-config"}
    assert made["buckets"] == [{"name": "models"}]
    assert pool["resources"].get("limits") == pool["resources"].get("requests")
    assert pool["containerSecurityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pool["nodeSelector"] == {"triplane.dev/pool": "cpu-pool"}
    claim = pool["volumeClaimTemplate"]["spec"]
    assert claim["storageClassName"] == "triplane-longhorn-minio"
    assert "preferredDuringSchedulingIgnoredDuringExecution" in pool["affinity"]["podAntiAffinity"]
    wide = minio.tenant(plan(pools__2__min=4, pools__2__max=4).regions[0], None)["pools"][0]
    assert "requiredDuringSchedulingIgnoredDuringExecution" in wide["affinity"]["podAntiAffinity"]


def test_a_pool_that_is_added_leaves_the_others_alone() -> None:
    """MINIO-01: names come from places, so a pool goes to the end."""
    first = {"servers": 4, "volumes_per_server": 1, "volume_gib": 50}
    one = minio.tenant(plan(objects__minio__pools=[first]).regions[0], None)["pools"]
    two = minio.tenant(
        plan(objects__minio__pools=[first, {**first, "volume_gib": 99}]).regions[0], None
    )["pools"]
    assert two[:1] == one
    assert [pool["name"] for pool in two] == ["pool-0", "pool-1"]


def test_the_tenant_has_the_shape_of_the_sample_that_the_real_definition_took() -> None:
    """The sample passed a server-side dry run; every key of ours must be one of the definition."""
    sample = next(
        each for each in yaml.safe_load_all(SAMPLES.read_text()) if each["kind"] == "Tenant"
    )
    made = minio.tenant(plan().regions[0], None)
    assert set(sample["spec"]) <= set(made)
    assert set(sample["spec"]["pools"][0]) <= set(made["pools"][0])


@pytest.mark.parametrize(
    ("access", "secret"),
    [("ab", "long-enough"), ("abc", "short"), ("a'c", "long-enough"), ("abc", 'quo"te-in-it')],
)
def test_keys_that_minio_does_not_take_are_refused_unshown(access: str, secret: str) -> None:
    """The operator and the server read config.env each in their own way."""
    with pytest.raises(ValueError, match="it is not shown") as caught:
        minio.config_env(access, secret)
    assert access not in str(caught.value).split()
    assert secret not in str(caught.value)


def test_keys_are_written_as_the_operator_reads_them() -> None:
    assert minio.config_env("admin", "s3cret/+key==") == (
        'export MINIO_ROOT_USER="admin"\nexport MINIO_ROOT_PASSWORD="s3cret/+key=="\n'
    )


def test_only_seeding_and_the_operator_reach_the_tenant() -> None:
    spec = cast("dict[str, Any]", minio.allow_clients())
    inside, outside = spec["ingress"]
    assert inside["from_"] == [{"pod_selector": {}}]
    names = [
        each["namespace_selector"]["match_labels"]["kubernetes.io/metadata.name"]
        for each in outside["from_"]
    ]
    assert names == ["triplane-models", "minio-operator"]
    assert outside["ports"] == [{"protocol": "TCP", "port": 9000}]


def job(**objects: Any) -> dict[str, Any]:
    """Return a seeding Job's spec for an object store."""
    made = plan(objects=objects).regions[0]
    return cast("dict[str, Any]", storage.seed_job(made, made.models[0], PROGRAM, None))


def variables(spec: dict[str, Any]) -> dict[str, Any]:
    (container,) = spec["template"]["spec"]["containers"]
    return {each["name"]: each.get("value") for each in container["env"]}


def test_a_store_is_told_to_the_job_by_variables_only() -> None:
    """Switching to another store changes these, and nothing else."""
    s3 = variables(job(kind="s3", bucket="b01", region="eu-west-1"))
    assert "S3_ENDPOINT_URL" not in s3
    assert (s3["AWS_REGION"], s3["S3_ADDRESSING_STYLE"]) == ("eu-west-1", "auto")
    other = variables(
        job(kind="endpoint", bucket="b01", endpoint="https://store:9000", require_checksums=True)
    )
    assert other["S3_ENDPOINT_URL"] == "https://store:9000"
    assert (other["S3_ADDRESSING_STYLE"], other["TRIPLANE_REQUIRE"]) == ("path", "checksum")
    assert "TRIPLANE_REQUIRE" not in s3


def test_a_private_authority_is_mounted_and_named() -> None:
    spec = job(kind="endpoint", bucket="b01", endpoint="https://store:9000", ca_secret="store-ca")
    pod = spec["template"]["spec"]
    assert variables(spec)["AWS_CA_BUNDLE"] == "/etc/triplane/ca/ca.crt"
    volume = next(each for each in pod["volumes"] if each["name"] == "ca")
    assert volume["secret"]["secret_name"] == "store-ca"
    mount = next(each for each in pod["containers"][0]["volume_mounts"] if each["name"] == "ca")
    assert mount["mount_path"] == "/etc/triplane/ca"


def test_the_program_is_found_where_it_is_mounted() -> None:
    (container,) = job(kind="s3", bucket="b01")["template"]["spec"]["containers"]
    assert container["command"] == ["python3", "-m", "catalog.programs.seed"]
    mount = next(each for each in container["volume_mounts"] if each["name"] == "program")
    assert mount["mount_path"] == "/opt/triplane/catalog/programs/seed"
    assert variables(job(kind="s3", bucket="b01"))["PYTHONPATH"] == "/opt/triplane"


def test_nothing_is_collected_unless_it_is_asked_for() -> None:
    region = plan().regions[0]
    assert storage.collect_job(region, PROGRAM, None) is None
    asked = plan(collect="revisions").regions[0]
    spec = cast("dict[str, Any]", storage.collect_job(asked, PROGRAM, None))
    found = variables(spec)
    assert found["TRIPLANE_COLLECT"] == "revisions"
    assert json.loads(found["TRIPLANE_KEEP"]) == {
        model.name: [model.entry.revision] for model in asked.models
    }
    resources = spec["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"] == resources["requests"]


def test_a_collection_runs_again_when_other_revisions_are_in_use() -> None:
    asked = plan(collect="revisions").regions[0]
    fewer = asked.model_copy(update={"models": asked.models[:1]})
    names = {storage.collect_name(each, PROGRAM) for each in (asked, fewer)}
    names |= {storage.collect_name(plan(collect="all").regions[0], PROGRAM)}
    assert len(names) == 3


def test_every_engine_has_a_directory_of_its_own_for_caches() -> None:
    """Keys of a cache name tokens, not models: two models in one directory would mix."""
    assert storage.cache_mount("qwen3-8b") == {
        "name": "kv-cache",
        "mount_path": "/cache/kv",
        "sub_path": "qwen3-8b",
    }
    claim = storage.cache_claim(plan().regions[0], 200)
    assert claim.get("storage_class_name") == "triplane-longhorn-cache"
    assert claim.get("access_modes") == ["ReadWriteMany"]
