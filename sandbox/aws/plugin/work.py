"""What the engine's calls do, without gRPC: check, diff, create, read, update, delete, invoke."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.core.findings import Finding
from models.core.problems import shown
from sandbox.aws.core import repeats
from sandbox.aws.core.api import Aws, marked
from sandbox.aws.core.errors import AwsError, InitError, StandInError
from sandbox.aws.core.kind import AwsKind
from sandbox.aws.core.plain import canonical, project
from sandbox.aws.core.values import UNKNOWN, Props, is_empty, part
from sandbox.aws.plugin import checks
from sandbox.aws.plugin.differ import Difference, compare
from sandbox.aws.schema.types import TypeSchema


@dataclass(frozen=True, kw_only=True)
class KindCatalog:
    """The types that the stand-in covers, and what the SDK says of each."""

    kinds: Mapping[str, AwsKind]
    schemas: Mapping[str, TypeSchema]

    def kind(self, token: str) -> AwsKind:
        """Return a type; raises `StandInError` for one that is not covered."""
        found = self.kinds.get(token)
        if found is None:
            raise StandInError(str(self.not_covered(token)))
        return found

    def not_covered(self, token: str) -> Finding:
        """Return the problem of a type that the stand-in does not play."""
        return Finding(
            path="type",
            message="the AWS stand-in does not cover this resource type",
            value=shown(token),
            allowed=", ".join(sorted(self.kinds)),
            remedy="add it to sandbox/aws/kinds (docs/stand-in.md says how), or use another type",
        )


@dataclass(frozen=True, kw_only=True)
class ConfiguredProvider:
    """One configured provider: an account, a region and the default tags."""

    catalog: KindCatalog
    aws: Aws | None
    default_tags: Mapping[str, str]
    repeats: Path | None
    """Which creations a killed update left open (`sandbox.aws.core.repeats`)."""

    def check(
        self, token: str, urn: str, props: Props, old: Props, seed: bytes
    ) -> tuple[Props, list[Finding]]:
        """Return the completed inputs and every problem of the given ones."""
        kind = self.catalog.kinds.get(token)
        if kind is None:
            return props, [self.catalog.not_covered(token)]
        schema = self.catalog.schemas[token]
        found = list(checks.problems(kind, schema, props))
        made = checks.complete(kind, urn, props, old, seed)
        return checks.with_tags(kind, made, self.default_tags), found

    def diff(self, token: str, old: Props, new: Props) -> Difference:
        """Compare old inputs with new ones."""
        return compare(self.catalog.kind(token), old, new)

    def preview_create(self, token: str, inputs: Props) -> Props:
        """Return the outputs that a creation would have: what only AWS knows is unknown."""
        schema = self.catalog.schemas[token]
        needed = {name: UNKNOWN for name, optional in schema.outputs.items() if not optional}
        return self._shown(token, {**needed, "region": self._region(inputs), **inputs})

    def create(self, token: str, urn: str, inputs: Props) -> tuple[str, Props]:
        """Make a resource; raises `InitError` with its id where it was made and did not come up."""
        kind, aws = self.catalog.kind(token), self._aws(inputs)
        open_ones = {} if self.repeats is None else repeats.read(self.repeats)
        if self.repeats is None or urn not in open_ones:
            return self._make(kind, aws, urn, inputs, "create")
        identity, made = self._make(kind, aws, urn, inputs, "repeat")
        if identity in open_ones[urn]:
            # What was answered again belongs to the resource that this one replaces.
            identity, made = self._make(kind, aws, urn, inputs, "create")
        repeats.done(self.repeats, urn)
        return identity, made

    def _make(
        self, kind: AwsKind, aws: Aws, urn: str, inputs: Props, purpose: str
    ) -> tuple[str, Props]:
        with marked(urn, purpose):
            identity = kind.create(aws, inputs)
            return identity, self._settled(kind, aws, identity, inputs, settle=True)

    def _settled(
        self, kind: AwsKind, aws: Aws, identity: str, inputs: Props, *, settle: bool
    ) -> Props:
        try:
            if settle:
                kind.settle(aws, identity, inputs)
            state = kind.read(aws, identity, inputs)
        except AwsError as error:
            raise InitError(identity, str(error)) from error
        if state is None:
            message = f"{kind.type} {identity} is gone right after it was made"
            raise InitError(identity, message)
        return self._outputs(kind.type, inputs, state)

    def preview_update(self, token: str, old: Props, new: Props) -> Props:
        """Return the outputs that an update would have."""
        kind, schema = self.catalog.kind(token), self.catalog.schemas[token]
        kept = {
            name: value
            for name, value in old.items()
            if name in new or not (name in schema.inputs.properties and schema.outputs.get(name))
        }
        changed = dict.fromkeys(kind.rules.recomputed, UNKNOWN)
        return self._shown(token, {**kept, **new, **changed})

    def update(self, token: str, identity: str, old: Props, new: Props) -> Props:
        """Change a resource in place."""
        kind, aws = self.catalog.kind(token), self._aws(new)
        kind.settle(aws, identity, new)
        if kind.update is not None:
            kind.update(aws, identity, old, new)
        return self._settled(kind, aws, identity, new, settle=False)

    def read(
        self, token: str, identity: str, inputs: Props, known: Props
    ) -> tuple[Props, Props] | None:
        """Return inputs and outputs as they are in AWS; None where the resource does not exist.

        Of the inputs only what the program gave comes back, unless there are none (an import).
        """
        kind = self.catalog.kind(token)
        aws = self._aws(known or inputs)
        state = kind.read(aws, identity, known or inputs)
        if state is None:
            return None
        outputs = self._outputs(token, inputs, state)
        stable = {name: _same(kind, name, known.get(name), each) for name, each in outputs.items()}
        return self._inputs(kind, inputs, state), stable

    def delete(self, token: str, urn: str, identity: str, state: Props) -> None:
        """Remove a resource; one that is gone already is no error."""
        with marked(urn, "delete"):
            self.catalog.kind(token).delete(self._aws(state), identity, state)

    def _inputs(self, kind: AwsKind, inputs: Props, state: Props) -> Props:
        given = {name: each for name, each in inputs.items() if not name.startswith("__")}
        if not given:
            given = dict(self._importable(kind, state))
            cut: Props = dict(given)
        else:
            # What an API never tells stays as given; a key with None is known to be absent.
            cut = project(given, {**given, **state}, kind.rules)
        if checks.DEFAULTS in inputs:
            cut[checks.DEFAULTS] = inputs[checks.DEFAULTS]
        if kind.rules.tagged:
            cut["tagsAll"] = part(state, "tagsAll")
            cut["tags"] = self._own_tags(part(inputs, "tags"), cut["tagsAll"])
            if not cut["tags"] and "tags" not in inputs:
                del cut["tags"]
        return {name: each for name, each in cut.items() if each is not None}

    def _own_tags(self, given: Mapping[str, str], actual: Mapping[str, str]) -> dict[str, str]:
        return {
            key: value
            for key, value in actual.items()
            if key in given or self.default_tags.get(key) != value
        }

    def _importable(self, kind: AwsKind, state: Props) -> Iterator[tuple[str, Any]]:
        schema = self.catalog.schemas[kind.type]
        for name, value in state.items():
            own = name in schema.inputs.properties and name not in ("tags", "tagsAll", "region")
            if own and kind.rules.acts_on(name) and not is_empty(value):
                yield name, value

    def _outputs(self, token: str, inputs: Props, state: Props) -> Props:
        """Return a resource's outputs: what was given where AWS keeps no better word of it."""
        kind = self.catalog.kind(token)
        given = {name: each for name, each in inputs.items() if not name.startswith("__")}
        merged = {**given, "region": self._region(inputs)}
        for name, actual in state.items():
            merged[name] = _same(kind, name, given.get(name), actual)
        return self._shown(token, merged)

    def _shown(self, token: str, props: Props) -> Props:
        known = self.catalog.schemas[token].outputs
        return {name: each for name, each in props.items() if name in known and each is not None}

    def _region(self, inputs: Props) -> str:
        return str(inputs.get("region") or (self.aws.region if self.aws else UNKNOWN))

    def _aws(self, props: Props) -> Aws:
        if self.aws is None:
            message = "the AWS stand-in is not configured yet: its region is unknown"
            raise StandInError(message)
        return self.aws.elsewhere(props.get("region"))


def _same(kind: AwsKind, name: str, old: Any, new: Any) -> Any:
    """Return the old spelling of a value where the new one means the same."""
    if old is None:
        return new
    before, after = canonical(old, kind.rules, name), canonical(new, kind.rules, name)
    return old if before == after else new
