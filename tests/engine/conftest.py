"""A dev stack of its own for a test module, on a control plane of its own."""

import os
import secrets
from collections.abc import Callable, Iterator

import pytest

from sandbox.engine.stack import Change, SandboxStack
from tests.helpers.engine.stacks import discard


@pytest.fixture(scope="module", autouse=True)
def written_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let updates write the state once, at their end, except in modules that kill one.

    The engine else serializes the whole state after each step, which is more than half of what it
    does in a first update. A module says `KILLS = True` to have it so, as `make up` has.
    """
    # pytest gives the module without a type.
    kills = getattr(request.module, "KILLS", False)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - see above
    with pytest.MonkeyPatch.context() as patch:
        if not kills:
            patch.setenv("PULUMI_SKIP_CHECKPOINTS", "true")
        yield


@pytest.fixture(scope="module")
def make_stack() -> Iterator[Callable[..., SandboxStack]]:
    """Return a maker of stacks that are removed when the module is done."""
    made: list[SandboxStack] = []

    def make(change: Change | None = None, config: dict[str, object] | None = None) -> SandboxStack:
        instance = f"test-{os.getpid()}-{secrets.token_hex(3)}"
        stack = SandboxStack(env="dev", instance=instance, change=change, config=config or {})
        made.append(stack)
        return stack

    yield make
    for stack in made:
        discard(stack)
