"""What the stand-in keeps of EKS in one account and region, beside moto's own backend."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from moto.eks.models import Cluster, Nodegroup, eks_backends

Object = dict[str, Any]


class EksError(Exception):
    """An error answer: HTTP status, EKS's code, its message."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


def not_found(message: str) -> EksError:
    """Return EKS's answer to a name that does not exist."""
    return EksError(404, "ResourceNotFoundException", message)


def in_use(message: str) -> EksError:
    """Return EKS's answer to a name that exists already."""
    return EksError(409, "ResourceInUseException", message)


def invalid(message: str) -> EksError:
    """Return EKS's answer to a parameter that it does not take."""
    return EksError(400, "InvalidParameterException", message)


def _children() -> dict[str, dict[str, Object]]:
    return {}


@dataclass(kw_only=True)
class EksStore:
    """Objects by cluster name, then by their own key."""

    account: str
    region: str
    extras: dict[str, Object] = field(default_factory=dict[str, Object])
    group_extras: dict[tuple[str, str], Object] = field(
        default_factory=dict[tuple[str, str], Object]
    )
    addons: dict[str, dict[str, Object]] = field(default_factory=_children)
    entries: dict[str, dict[str, Object]] = field(default_factory=_children)
    identities: dict[str, dict[str, Object]] = field(default_factory=_children)

    def cluster(self, name: str) -> Cluster:
        """Return moto's cluster; raises `EksError` in EKS's words where there is none."""
        found = eks_backends[self.account][self.region].clusters.get(name)
        if found is None:
            raise not_found(f"No cluster found for name: {name}.")
        return found

    def group(self, cluster: str, name: str) -> Nodegroup:
        """Return moto's node group; raises `EksError` where there is none."""
        found = self.cluster(cluster).nodegroups.get(name)
        if found is None:
            raise not_found(f"No node group found for name: {name}.")
        return found

    def arn(self, rest: str) -> str:
        """Return an EKS ARN in this account and region."""
        return f"arn:aws:eks:{self.region}:{self.account}:{rest}"

    def forget(self, cluster: str) -> None:
        """Drop everything that goes with a cluster."""
        for kept in (self.extras, self.addons, self.entries, self.identities):
            kept.pop(cluster, None)
        for key in [key for key in self.group_extras if key[0] == cluster]:
            del self.group_extras[key]

    def tagged(self, arn: str) -> Object | None:
        """Return the object of ours with an ARN; None where it is not ours."""
        for kept in (self.addons, self.entries, self.identities):
            for objects in kept.values():
                for each in objects.values():
                    if arn in (
                        each.get(name) for name in ("addonArn", "accessEntryArn", "associationArn")
                    ):
                        return each
        return None


def update(kind: str, params: Mapping[str, Any]) -> Object:
    """Return the record of an update that is done already."""
    told = [{"type": key, "value": str(value)} for key, value in params.items()]
    return {
        "update": {
            "id": str(uuid.uuid4()),
            "status": "Successful",
            "type": kind,
            "params": told,
            "createdAt": time.time(),
            "errors": [],
        }
    }
