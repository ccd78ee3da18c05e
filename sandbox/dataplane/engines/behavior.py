"""How a stub engine behaves: what a test or a bench may steer while it runs."""

from typing import Annotated, Final

from pydantic import Field

from models.core.base import Model

Seconds = Annotated[float, Field(ge=0, le=3600)]


class EngineBehavior(Model):
    """Everything that can be steered; the defaults are those of a fast engine without faults.

    The time to the first token is `first_token_sec` plus `prefill_sec_per_token` for every token of
    the prompt that the prefix cache does not hold. `errors` requests are answered with
    `error_status` (None: all of them). After `dies_after_tokens` tokens of any one stream the whole
    engine dies, as by SIGKILL.
    """

    first_token_sec: Seconds = 0.0
    prefill_sec_per_token: Seconds = 0.0
    inter_token_sec: Seconds = 0.0
    output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 16
    error_status: Annotated[int, Field(ge=400, le=599)] | None = None
    errors: Annotated[int, Field(ge=0)] | None = None
    dies_after_tokens: Annotated[int, Field(ge=0)] | None = None


QUIET: Final = EngineBehavior()
