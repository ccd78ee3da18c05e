"""External Secrets: narrow stores, secrets with fixed names, and no defaults left to others."""

from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context, is_house, strictness
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed

_GROUP: Final = "external-secrets.io"
_REMOTE_DEFAULTS: Final = ("conversionStrategy", "decodingStrategy", "metadataPolicy")


def _is_secret(manifest: Manifest) -> bool:
    return manifest.is_kind("ExternalSecret") and manifest.group == _GROUP


def _is_store(manifest: Manifest) -> bool:
    kinds = ("SecretStore", "ClusterSecretStore")
    return manifest.is_kind(*kinds) and manifest.group == _GROUP


@rule(
    "k8s-externalsecret-say-defaults",
    "Every ExternalSecret says the defaults that the server would fill in.",
    remedy="write conversionStrategy: Default, decodingStrategy: None and metadataPolicy: None at "
    "each remoteRef, and creationPolicy and deletionPolicy at the target",
    weight=RuleWeight.MEDIUM,
    tags=("secrets", "drift"),
)
def say_defaults(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """ESO-02: what is filled in later differs from what is written, forever."""
    if not _is_secret(manifest):
        return
    # Nothing breaks in a cluster: an error only where it is our own convention.
    severity = Severity.ERROR if is_house(manifest.namespace) else Severity.WARNING
    for entry in manifest.spec["data"].items():
        ref = entry["remoteRef"]
        missing = [name for name in _REMOTE_DEFAULTS if not ref[name].present]
        if missing:
            yield Finding(ref.path, f"{', '.join(missing)} are filled in later", severity)
    target = manifest.spec["target"]
    missing = [name for name in ("creationPolicy", "deletionPolicy") if not target[name].present]
    if missing:
        yield Finding(target.path, f"{', '.join(missing)} are filled in later", severity)


@rule(
    "k8s-externalsecret-stay-fresh",
    "Every ExternalSecret is read again, and its Secret goes when it goes.",
    remedy="set refreshInterval above 0 (1h0m0s) and target.creationPolicy: Owner",
    tags=("secrets",),
)
def stay_fresh(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """A rotated key never arrives, or a removed one stays in the cluster forever."""
    if not _is_secret(manifest):
        return
    interval, policy = manifest.spec["refreshInterval"], manifest.spec["refreshPolicy"]
    once = policy.present and policy.text() != "Periodic"
    if once or (interval.present and _is_zero(interval)):
        where = policy if once else interval
        yield Finding(
            where.path, "the secret is read once: a new value never arrives", Severity.WARNING
        )
    creation = manifest.spec.at("target", "creationPolicy")
    if creation.present and creation.text() == "Orphan":
        yield Finding(creation.path, "the Secret outlives its ExternalSecret", Severity.WARNING)


def _is_zero(node: Node) -> bool:
    return not (node.text() or "").strip("0hms.µu")


@rule(
    "k8s-secretstore-limit-readers",
    "Every store of secrets serves named namespaces only.",
    remedy="use a SecretStore in each namespace that needs secrets, or set "
    "ClusterSecretStore.spec.conditions[].namespaces",
    weight=RuleWeight.CRITICAL,
    tags=("secrets",),
)
def limit_readers(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """Whoever may write an ExternalSecret anywhere reads everything that the store may read."""
    if not manifest.is_kind("ClusterSecretStore") or not _is_store(manifest):
        return
    conditions = list(manifest.spec["conditions"].items())
    open_ones = [each for each in conditions if not _narrows(each)]
    if not conditions or open_ones:
        where = open_ones[0].path if open_ones else "spec"
        severity = Severity.ERROR if context.pulumi else Severity.WARNING
        yield Finding(where, "every namespace of the cluster may use the store", severity)


def _narrows(condition: Node) -> bool:
    patterns = condition["namespaceRegexes"].words()
    if any(pattern in (".*", "^.*$", ".+") for pattern in patterns):
        return False
    selector = condition["namespaceSelector"]
    selects = selector["matchLabels"].present or selector["matchExpressions"].present
    return bool(condition["namespaces"].words() or patterns) or selects


@rule(
    "k8s-secretstore-read-named-secrets",
    "No account that a store reads with may list secrets or read all of them.",
    remedy="grant get on secrets with resourceNames, in the source namespace only",
    weight=RuleWeight.CRITICAL,
    tags=("secrets",),
)
def read_named_secrets(placed: Placed, context: Context) -> Iterator[Finding]:
    """A store is only as narrow as the account that it reads with."""
    store = placed.manifest
    if not _is_store(store):
        return
    account = store.spec.at("provider", "kubernetes", "auth", "serviceAccount")
    if not account.present:
        return
    name = account["name"].text()
    space = account["namespace"].text() or store.namespace
    for binding in placed.stack.of_kind("RoleBinding", "ClusterRoleBinding"):
        if any(_is_account(each, name, space) for each in binding.body["subjects"].items()):
            yield from _wide_rights(placed, binding)


def _is_account(subject: Node, name: str | None, namespace: str | None) -> bool:
    kind = subject["kind"].text() == "ServiceAccount"
    return kind and (subject["name"].text(), subject["namespace"].text()) == (name, namespace)


def _wide_rights(placed: Placed, binding: Manifest) -> Iterator[Finding]:
    ref = binding.body["roleRef"]
    space = binding.namespace if ref["kind"].text() == "Role" else None
    for role in placed.stack.named(ref["kind"].text() or "", space, ref["name"].text() or ""):
        for each in role.body["rules"].items():
            resources, verbs = each["resources"].words(), each["verbs"].words()
            if not {"secrets", "*"} & set(resources):
                continue
            wide = sorted(set(verbs) - {"get"})
            if wide:
                message = f"{role.label} lets the store's account {', '.join(wide)} secrets"
                yield Finding("spec.provider", message)
            elif not each["resourceNames"].words():
                message = f"{role.label} lets the store's account get every secret"
                yield Finding("spec.provider", message)


@rule(
    "k8s-externalsecret-find-its-store",
    "Every ExternalSecret names a store that exists.",
    remedy="correct secretStoreRef (kind and name; a SecretStore serves its own namespace only)",
    tags=("secrets", "names"),
)
def find_its_store(placed: Placed, context: Context) -> Iterator[Finding]:
    """It waits forever for a store that nobody makes."""
    manifest = placed.manifest
    if not _is_secret(manifest) or not context.whole:
        return
    ref = manifest.spec["secretStoreRef"]
    if not ref.present:
        return
    kind = ref["kind"].text() or "SecretStore"
    space = manifest.namespace if kind == "SecretStore" else None
    if any(placed.stack.named(kind, space, ref["name"].text() or "")):
        return
    # A store of the whole cluster is often somebody else's.
    severity = strictness(manifest.namespace, context)
    if kind == "ClusterSecretStore":
        severity = Severity.WARNING
    yield Finding(ref.path, f"there is no {kind} {ref['name'].text()}", severity)
