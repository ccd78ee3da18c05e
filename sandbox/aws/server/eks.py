"""Which EKS calls the stand-in answers itself, and which of moto's answers it completes."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sandbox.aws.core import faults
from sandbox.aws.server import eks_access, eks_addons, eks_clusters, eks_nodes
from sandbox.aws.server.eks_store import EksError, EksStore, Object
from sandbox.aws.server.wire import AwsAnswer, AwsRequest, json_answer, json_error

Handler = Callable[[EksStore, AwsRequest, Mapping[str, str]], Object]

_CLUSTER: Final = "/clusters/{name}"
_ENTRY: Final = f"{_CLUSTER}/access-entries/{{principal}}"
_IDENTITY: Final = f"{_CLUSTER}/pod-identity-associations"
_GROUP: Final = f"{_CLUSTER}/node-groups/{{group}}"

OWN: Final[Mapping[str, Handler]] = {
    f"POST {_CLUSTER}/updates": eks_clusters.update_version,
    f"POST {_CLUSTER}/update-config": eks_clusters.update_config,
    f"POST {_CLUSTER}/encryption-config/associate": eks_clusters.encrypt,
    f"POST {_GROUP}/update-version": eks_nodes.update_version,
    f"POST {_CLUSTER}/addons": eks_addons.create,
    f"GET {_CLUSTER}/addons": eks_addons.listing,
    f"GET {_CLUSTER}/addons/{{addon}}": eks_addons.describe,
    f"POST {_CLUSTER}/addons/{{addon}}/update": eks_addons.change,
    f"DELETE {_CLUSTER}/addons/{{addon}}": eks_addons.delete,
    f"POST {_CLUSTER}/access-entries": eks_access.create_entry,
    f"GET {_CLUSTER}/access-entries": eks_access.list_entries,
    f"POST {_ENTRY}/access-policies": eks_access.associate_policy,
    f"GET {_ENTRY}/access-policies": eks_access.list_policies,
    f"DELETE {_ENTRY}/access-policies/{{policy}}": eks_access.disassociate_policy,
    f"GET {_ENTRY}": eks_access.describe_entry,
    f"POST {_ENTRY}": eks_access.update_entry,
    f"DELETE {_ENTRY}": eks_access.delete_entry,
    f"POST {_IDENTITY}": eks_access.create_identity,
    f"GET {_IDENTITY}": eks_access.list_identities,
    f"GET {_IDENTITY}/{{identity}}": eks_access.describe_identity,
    f"POST {_IDENTITY}/{{identity}}": eks_access.update_identity,
    f"DELETE {_IDENTITY}/{{identity}}": eks_access.delete_identity,
}
"""Calls that moto 5.2.5 has no answer to (or a wrong one). The longest pattern wins."""

_ARN_PARTS: Final = {"principal": r"arn:aws:iam::\d+:[^:]+?", "policy": "arn:aws:eks::aws:.+"}


def _pattern(route: str) -> re.Pattern[str]:
    named = re.sub(r"\{(\w+)\}", lambda m: f"(?P<{m[1]}>{_ARN_PARTS.get(m[1], '[^/]+')})", route)
    return re.compile(f"^{named}$")


_ROUTES: Final = tuple((_pattern(route), call) for route, call in OWN.items())
_ONE_CLUSTER: Final = _pattern(f"GET {_CLUSTER}")
_GONE_CLUSTER: Final = _pattern(f"DELETE {_CLUSTER}")
_ONE_GROUP: Final = _pattern(f"GET {_GROUP}")
_NEW_GROUP: Final = _pattern(f"POST {_CLUSTER}/node-groups")
_GROUP_CONFIG: Final = _pattern(f"POST {_GROUP}/update-config")
_TAGS: Final = re.compile(r"^(?P<method>\w+) /tags/(?P<arn>arn:.+)$")


class Eks:
    """EKS in every account and region."""

    def __init__(self, faults_file: Path) -> None:
        self._faults = faults_file
        self._stores: dict[tuple[str, str], EksStore] = {}

    def handle(self, request: AwsRequest) -> AwsAnswer | None:
        """Answer a call that moto lacks; None where moto is to answer."""
        store = self._store(request)
        call = f"{request.method} {request.path}"
        try:
            for pattern, handler in _ROUTES:
                if match := pattern.match(call):
                    return json_answer(handler(store, request, match.groupdict()))
            if match := _GONE_CLUSTER.match(call):
                eks_clusters.refuse_deletion(store, match["name"])
            if match := _NEW_GROUP.match(call):
                eks_nodes.require_version(store, request, match["name"])
            if match := _TAGS.match(call):
                return _tags(store, request, match["arn"])
        except EksError as error:
            return json_error(error.status, error.code, str(error))
        return None

    def complete(self, request: AwsRequest, answer: AwsAnswer) -> AwsAnswer:
        """Add to moto's answer what moto does not keep."""
        call = f"{request.method} {request.path}"
        store = self._store(request)
        if match := _GONE_CLUSTER.match(call):
            eks_clusters.deleted(store, match["name"], answer)
        if not answer.good or not answer.body:
            return answer
        content: Object = json.loads(answer.body)
        if call == "POST /clusters":
            eks_clusters.keep(store, request, content)
        elif match := _ONE_CLUSTER.match(call):
            eks_clusters.add(store, match["name"], content)
        elif _NEW_GROUP.match(call):
            eks_nodes.keep(store, request, content, faults.read(self._faults))
        elif match := _ONE_GROUP.match(call):
            eks_nodes.add(store, match["name"], match["group"], content)
        elif match := _GROUP_CONFIG.match(call):
            eks_nodes.note_config(store, request, match["name"], match["group"])
        return AwsAnswer(
            status=answer.status, headers=answer.headers, body=json.dumps(content).encode()
        )

    def _store(self, request: AwsRequest) -> EksStore:
        key = (request.account, request.region)
        return self._stores.setdefault(
            key, EksStore(account=request.account, region=request.region)
        )


def _tags(store: EksStore, request: AwsRequest, arn: str) -> AwsAnswer | None:
    """Read or change the tags of an object of ours."""
    found = store.tagged(arn)
    if found is None:
        return None
    if request.method == "POST":
        found["tags"] |= request.json()["tags"]
    elif request.method == "DELETE":
        for key in request.query.get("tagKeys", []):
            found["tags"].pop(key, None)
    else:
        return json_answer({"tags": found["tags"]})
    return json_answer({})
