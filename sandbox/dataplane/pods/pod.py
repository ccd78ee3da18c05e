"""What an engine's pod says: how it is started, where it is reached, how it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from models.facts.contract import EngineContract
from sandbox.core.kube import Object
from sandbox.dataplane.engines.settings import EngineSettings, RefusedCommandError, settings_of

SELECTOR: Final = "app.kubernetes.io/name=vllm"
"""What engines of ours are labeled with (`models/core/names.py`)."""

FINALIZER: Final = "sandbox.triplane.dev/engine"
"""Keeps a pod until its engine has ended, as a kubelet would."""

_RELEASE: Final = "triplane.dev/engine-version"
_REFUSED: Final = 2
KILLED: Final = 137

SecretValue = Callable[[str, str, str], str | None]
"""From namespace, Secret and key to the value."""


@dataclass(frozen=True, slots=True)
class EnginePod:
    """One pod as the API server has it."""

    body: Object

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.body["metadata"]["namespace"], self.body["metadata"]["name"]

    @property
    def uid(self) -> str:
        """A pod of the same name that comes later has another one."""
        return self.body["metadata"]["uid"]

    @property
    def path(self) -> str:
        """Where the API server has it."""
        namespace, name = self.key
        return f"/api/v1/namespaces/{namespace}/pods/{name}"

    @property
    def running(self) -> bool:
        """Whether its containers run, and it has an address."""
        status: Object = self.body.get("status", {})
        return status.get("phase") == "Running" and bool(status.get("podIP"))

    @property
    def ip(self) -> str:
        """The address that EndpointSlices hold."""
        return self.body["status"]["podIP"]

    @property
    def terminating(self) -> bool:
        """Whether it was deleted and waits for its containers."""
        return "deletionTimestamp" in self.body["metadata"]

    @property
    def grace_sec(self) -> float:
        """How long its containers may take from the deletion on, the pre-stop hook included."""
        return float(self.body["metadata"].get("deletionGracePeriodSeconds") or 0)

    @property
    def pre_stop_sec(self) -> float:
        """How long the pre-stop hook sleeps."""
        hook: Object = self._container.get("lifecycle", {}).get("preStop", {})
        return float(hook.get("sleep", {}).get("seconds", 0))

    @property
    def finalizers(self) -> list[str]:
        """Who else keeps the pod."""
        return self.body["metadata"].get("finalizers", [])

    @property
    def _container(self) -> Object:
        return self.body["spec"]["containers"][0]

    def settings(
        self, contracts: Mapping[str, EngineContract], secret: SecretValue
    ) -> EngineSettings:
        """Return what the engine is started with; raises `RefusedCommandError`."""
        release = self.body["metadata"].get("annotations", {}).get(_RELEASE, "")
        contract = contracts.get(release)
        if contract is None:
            raise RefusedCommandError(
                f"annotation {_RELEASE}: {release!r} must be one of {', '.join(contracts)}"
            )
        container = self._container
        command = [*container.get("command", []), *container.get("args", [])]
        return settings_of(command, self._variables(secret), contract)

    def _variables(self, secret: SecretValue) -> dict[str, str]:
        variables: dict[str, str] = {}
        for row in self._container.get("env", []):
            reference: Object = row.get("valueFrom", {}).get("secretKeyRef", {})
            value = row.get("value")
            if reference:
                value = secret(self.key[0], reference["name"], reference["key"])
            if value is not None:
                variables[row["name"]] = value
        return variables

    def ended_status(self, code: int, message: str) -> Object:
        """Return the status of a pod whose engine ended by itself, as a kubelet writes it."""
        status: Object = self.body["status"]
        ended = {"terminated": {"exitCode": code, "reason": "Error", "message": message}}
        conditions: list[Object] = [
            {**each, "status": "False", "reason": "ContainersNotReady", "message": message}
            if each["type"] in ("Ready", "ContainersReady")
            else each
            for each in status.get("conditions", [])
        ]
        name = self._container["name"]
        containers: list[Object] = [
            {**each, "ready": False, "started": False, "state": ended}
            if each["name"] == name
            else each
            for each in status.get("containerStatuses", [])
        ]
        return {"status": {"conditions": conditions, "containerStatuses": containers}}


def refused(error: RefusedCommandError) -> tuple[int, str]:
    """Return code and message of an engine that does not take its command."""
    return _REFUSED, f"vllm serve: error: {error}"
