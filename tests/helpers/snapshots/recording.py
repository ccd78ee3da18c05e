"""What a program registers under mocks, with what `Mocks` hide: parents, order, options, secrets.

Values are plain data, as the engine would get them. A secret is never kept: its place is.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, cast

import pulumi
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import rpc
from pulumi.runtime.mocks import MockMonitor

SECRET: Final = "[secret]"
UNKNOWN: Final = "[unknown]"

Data = dict[str, Any]
Answers = Callable[[pulumi.runtime.MockResourceArgs], Data]


@dataclass(frozen=True, kw_only=True, eq=False)
class Registration:
    """One resource that was registered or read.

    Other resources are named by their URNs, since a component and a resource may share a name.
    `options` are what else was given, as the engine names it.
    """

    urn: str
    type: str
    name: str
    inputs: Data
    parent: str
    dependencies: frozenset[str]
    provider: str
    options: Data
    read: bool = False

    @property
    def is_component(self) -> bool:
        """Whether it only holds others."""
        return self.type.startswith("triplane:")


@dataclass
class Recording:
    """What one run registered, by URN."""

    registered: dict[str, Registration] = field(default_factory=dict[str, Registration])

    def add(self, registration: Registration) -> None:
        """Keep a registration; two with one URN would be one in a stack's state."""
        assert registration.urn not in self.registered, f"{registration.urn} is registered twice"
        self.registered[registration.urn] = registration


class _Mocks(pulumi.runtime.Mocks):
    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, Data]:
        return f"{args.name}-id", self._answers(args)

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[Data, None]:
        message = f"the program calls {args.token}, and it should call nothing"
        raise AssertionError(message)


class _Monitor(MockMonitor):
    def __init__(self, mocks: _Mocks, recording: Recording) -> None:
        super().__init__(mocks)
        self._recording = recording

    def RegisterResource(self, request: Any) -> Any:
        answer = cast("Any", super()).RegisterResource(request)
        if request.type != "pulumi:pulumi:Stack":
            common = _common(answer.urn, request, request.object)
            self._recording.add(Registration(**common, options=_options(request)))
        return answer

    def ReadResource(self, request: Any) -> Any:
        answer = cast("Any", super()).ReadResource(request)
        common = _common(answer.urn, request, request.properties)
        self._recording.add(Registration(**common, options={}, read=True))
        return answer


def record(program: Callable[[], None], answers: Answers, stack: str) -> Recording:
    """Run a program under fresh mocks; return what it registered."""
    recording = Recording()
    mocks = _Mocks(answers)
    monitor = _Monitor(mocks, recording)
    pulumi.runtime.set_mocks(mocks, project="triplane", stack=stack, monitor=monitor)
    # Untyped in the SDK; without it a failing assertion inside an apply would pass silently.
    cast("Any", pulumi.runtime).test(program)()
    return recording


_GIVEN: Final = (
    *("protect", "deleteBeforeReplace", "ignoreChanges", "additionalSecretOutputs", "importId"),
    *("customTimeouts", "replaceOnChanges", "retainOnDelete", "deletedWith", "aliases", "hooks"),
)
"""Options that are recorded where they are given."""


def _options(request: Any) -> Data:
    whole = MessageToDict(request)
    return {name: whole[name] for name in _GIVEN if whole.get(name)}


def _common(urn: str, request: Any, inputs: Any) -> Data:
    return {
        "urn": urn,
        "type": request.type,
        "name": request.name,
        "inputs": _plain(MessageToDict(inputs)),
        "parent": request.parent,
        "dependencies": frozenset(request.dependencies),
        # A provider is referred to by its URN and its id.
        "provider": request.provider.rpartition("::")[0],
    }


_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET_SIGNATURE: Final = "1b47061264138c4ac30d75fd1eb44270"


def _plain(value: Any) -> Any:
    """Return a value of the engine's protocol as plain data."""
    if isinstance(value, dict):
        whole = cast("Data", value)
        if _SIGNATURE in whole:
            return SECRET if whole[_SIGNATURE] == _SECRET_SIGNATURE else UNKNOWN
        return {key: _plain(each) for key, each in whole.items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return UNKNOWN if value == rpc.UNKNOWN else value
