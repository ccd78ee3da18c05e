"""Certificates: issuers that exist, names that fit, lives that clients accept, keys that stay."""

import re
from collections.abc import Iterator
from typing import Final

from models.core.findings import Finding, Severity
from policies.core.context import Context, strictness
from policies.core.nodes import Node
from policies.core.rule import RuleWeight, rule
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.stack import Placed

_GROUP: Final = "cert-manager.io"
_LONGEST_HOURS: Final = 398 * 24
"""Clients refuse server certificates of a public authority that live longer (CA/Browser Forum
ballot SC22); Apple's refuse those of private ones above 825 days."""

_UNITS: Final = {"h": 1.0, "m": 1 / 60, "s": 1 / 3600}


def _is_certificate(manifest: Manifest) -> bool:
    return manifest.is_kind("Certificate") and manifest.group == _GROUP


@rule(
    "k8s-certificate-find-its-issuer",
    "Every Certificate names an issuer that exists.",
    remedy="correct issuerRef (an Issuer serves its own namespace only, a ClusterIssuer all)",
    tags=("certificates", "names"),
)
def find_its_issuer(placed: Placed, context: Context) -> Iterator[Finding]:
    """It is never issued, and the listener that waits for it never opens."""
    manifest = placed.manifest
    if not _is_certificate(manifest) or not context.whole:
        return
    ref = manifest.spec["issuerRef"]
    group = ref["group"].text() or _GROUP
    if group != _GROUP:
        return
    kind = ref["kind"].text() or "Issuer"
    space = manifest.namespace if kind == "Issuer" else None
    if any(placed.stack.named(kind, space, ref["name"].text() or "")):
        return
    severity = strictness(manifest.namespace, context)
    if kind == "ClusterIssuer":
        # Often somebody else's, unless the stack makes issuers itself.
        ours = any(placed.stack.of_kind("ClusterIssuer"))
        severity = severity if ours else Severity.WARNING
    yield Finding(ref.path, f"there is no {kind} {ref['name'].text()}", severity)


@rule(
    "k8s-certificate-keep-authority-key",
    "Every authority keeps its key when its certificate is renewed.",
    remedy="set privateKey.rotationPolicy: Never on certificates with isCA",
    tags=("certificates",),
)
def keep_authority_key(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """cert-manager rotates keys by default since 1.18: clients that hold the old authority fail."""
    if not _is_certificate(manifest) or not manifest.spec["isCA"].flag():
        return
    policy = manifest.spec.at("privateKey", "rotationPolicy")
    if not policy.present or policy.text() != "Never":
        severity = strictness(manifest.namespace, context)
        yield Finding(policy.path, "the authority gets another key at each renewal", severity)


@rule(
    "k8s-certificate-be-accepted",
    "Every server certificate lives no longer than clients accept, and is renewed in time.",
    remedy="set duration to at most 9552h (398 days) and renewBefore below it",
    tags=("certificates",),
)
def be_accepted(manifest: Manifest, context: Context) -> Iterator[Finding]:
    """Clients refuse it, or it is renewed without end."""
    if not _is_certificate(manifest):
        return
    life, before = manifest.spec["duration"], manifest.spec["renewBefore"]
    lives = _hours(life) if life.present else None
    if lives is not None and lives > _LONGEST_HOURS and not manifest.spec["isCA"].flag():
        message = f"the certificate lives {lives / 24:.0f} days; clients accept 398"
        yield Finding(life.path, message, strictness(manifest.namespace, context))
    early = _hours(before) if before.present else None
    if lives is not None and early is not None and early >= lives:
        yield Finding(before.path, "it is renewed before it begins, without end")


def _hours(node: Node) -> float | None:
    """Return a Go duration in hours; None where it is none."""
    text = node.text() or ""
    parts = re.findall(r"(\d+(?:\.\d+)?)(h|m|s)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


@rule(
    "k8s-gateway-serve-its-name",
    "Every listener's certificate is for the name that it serves.",
    remedy="add the listener's hostname to the Certificate's dnsNames, or correct either",
    weight=RuleWeight.CRITICAL,
    tags=("certificates", "gateway", "names"),
)
def serve_its_name(placed: Placed, context: Context) -> Iterator[Finding]:
    """Every client refuses the connection."""
    gateway = placed.manifest
    if not gateway.is_kind("Gateway") or gateway.group != "gateway.networking.k8s.io":
        return
    for listener in gateway.spec["listeners"].items():
        hostname = listener["hostname"].text()
        for ref in listener.at("tls", "certificateRefs").items():
            space = ref["namespace"].text() or gateway.namespace
            for certificate in _of_secret(placed, space, ref["name"].text()):
                names = certificate.spec["dnsNames"].words()
                if hostname is not None and not any(covers(name, hostname) for name in names):
                    message = f"{certificate.label} is for {', '.join(names) or 'no name'}"
                    yield Finding(listener["hostname"].path, f"{message}, not {hostname}")


def _of_secret(placed: Placed, namespace: str | None, secret: str | None) -> Iterator[Manifest]:
    for each in placed.stack.of_kind("Certificate"):
        if each.namespace == namespace and each.spec["secretName"].text() == secret:
            yield each


def covers(name: str, hostname: str) -> bool:
    """Whether a certificate's name covers a hostname: equal, or one label below a wildcard."""
    name, hostname = name.lower(), hostname.lower()
    if name.startswith("*.") and not hostname.startswith("*."):
        return hostname.partition(".")[2] == name[2:]
    return name == hostname
