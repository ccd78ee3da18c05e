"""A custom resource of any kind, with its status as a typed output."""

from collections.abc import Mapping
from typing import Any, Final, cast

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_kubernetes.meta.v1 import ObjectMetaArgsDict

from components.render.common import WAIT_FOR

Status = dict[str, Any]
"""A status as the API server returns it; its schema is the custom resource definition's."""


def waiting_for(meta: ObjectMetaArgsDict, condition: str) -> ObjectMetaArgsDict:
    """Return metadata by which the provider waits until the condition is True."""
    annotations = dict(cast("Mapping[str, str]", meta.get("annotations", {})))
    return {**meta, "annotations": {**annotations, WAIT_FOR: f"condition={condition}"}}


_ACCEPTED: Final = 'jsonpath={.status.ancestors[0].conditions[?(@.type=="Accepted")].status}=True'
"""Policies of the Gateway API have no conditions of their own, but some for each target."""


def waiting_for_target(meta: ObjectMetaArgsDict) -> ObjectMetaArgsDict:
    """Return metadata by which the provider waits until a policy's first target takes it.

    A policy that no target takes does nothing, and nothing else says so.
    """
    annotations = dict(cast("Mapping[str, str]", meta.get("annotations", {})))
    return {**meta, "annotations": {**annotations, WAIT_FOR: _ACCEPTED}}


class CustomObject(pulumi.CustomResource):
    """One Kubernetes custom resource.

    The provider's own `CustomResource` class does not expose `status`; this one does.
    """

    status: Output[Status]

    def __init__(
        self,
        name: str,
        *,
        api_version: str,
        kind: str,
        metadata: ObjectMetaArgsDict,
        spec: Mapping[str, Any],
        opts: ResourceOptions | None = None,
    ) -> None:
        """Register the object; `spec` is plain data in the API's own spelling."""
        props: dict[str, Input[Any]] = {
            "apiVersion": api_version,
            "kind": kind,
            "metadata": metadata,
            "spec": dict(spec),
            "status": None,
        }
        super().__init__(f"kubernetes:{api_version}:{kind}", name, props, opts)
