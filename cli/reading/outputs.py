"""A stack's outputs as clients get them (docs/outputs.md)."""

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cli.errors import InputError


class _Read(BaseModel):
    """What is read of an object; other keys may come in later releases."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ModelOutput(_Read):
    """A model that a region serves."""

    id: str
    endpoint: str
    max_model_len: int = Field(alias="maxModelLen", gt=0)


class RegionOutput(_Read):
    """A region's entrance, and what is behind it."""

    gateway_url: str = Field(alias="gatewayUrl", pattern=r"^https?://[^/]+$")
    gateway_ca: str | None = Field(alias="gatewayCa", default=None)
    client_keys: bool = Field(alias="clientKeys")
    max_body_mib: int = Field(alias="maxBodyMib", gt=0)
    suspended: bool = False
    models: tuple[ModelOutput, ...]


class Outputs(_Read):
    """The part of a stack's outputs that requests need."""

    environment: str
    regions: dict[str, RegionOutput]


def outputs_of(text: str, name: str) -> Outputs:
    """Return a stack's outputs; raises `InputError` with everything that is wrong with the text."""
    try:
        return Outputs.model_validate_json(text)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'the text'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        )
        raise InputError(
            f"{name}: these are not the outputs of a Triplane stack ({problems}); give what "
            "`pulumi stack output --json` prints"
        ) from None
