"""Reading the bodies of completion requests."""

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from sandbox.dataplane.engines import tokens
from sandbox.dataplane.engines.faults import bad_request, invalid_body, unknown_model
from sandbox.dataplane.engines.settings import EngineSettings

_DEFAULT_COMPLETION: Final = 16
"""What `max_tokens` of /v1/completions is where the request has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """What is to be generated: `limit` is the most tokens that the answer may have."""

    chat: bool
    model: str
    prompt: bytes
    prompt_tokens: int
    max_tokens: int | None
    limit: int
    stream: bool
    include_usage: bool


def read(body: bytes, settings: EngineSettings, *, chat: bool) -> Generation:
    """Return what a request asks for; raises `RequestFault` as the engine refuses."""
    try:
        parsed: object = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid_body(
            f"[{{'type': 'json_invalid', 'msg': 'JSON decode error: {error}'}}]"
        ) from error
    if not isinstance(parsed, dict):
        raise invalid_body("[{'type': 'model_attributes_type', 'msg': 'must be an object'}]")
    fields = cast("dict[str, Any]", parsed)
    model = fields.get("model") or settings.names[0]
    if model not in settings.names:
        raise unknown_model(str(model))
    prompt = (_messages(fields) if chat else _prompt(fields)).encode(errors="surrogatepass")
    prompt_tokens = tokens.count(prompt)
    max_tokens = _max_tokens(fields, chat=chat)
    _require_room(prompt_tokens, max_tokens, settings, chat=chat)
    stream = _switch(fields, "stream")
    return Generation(
        chat=chat,
        model=model,
        prompt=prompt,
        prompt_tokens=prompt_tokens,
        max_tokens=max_tokens,
        limit=min(max_tokens or settings.max_model_len, settings.max_model_len - prompt_tokens),
        stream=stream,
        include_usage=_include_usage(fields, stream=stream),
    )


def _messages(fields: dict[str, Any]) -> str:
    messages: object = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad_request("messages must be a list with at least one message", "messages")
    return "".join(_message(each) for each in cast("list[object]", messages)) + "<|assistant|>"


def _message(message: object) -> str:
    if not isinstance(message, dict):
        raise bad_request("each of messages must be an object", "messages")
    fields = cast("dict[str, Any]", message)
    role, content = fields.get("role"), fields.get("content")
    if not isinstance(role, str):
        raise bad_request("each of messages must have a role", "messages")
    return f"<|{role}|>{_content(content)}\n"


def _content(content: object) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise bad_request("content of a message must be a string or a list of parts", "messages")
    parts = cast("list[object]", content)
    fields = [cast("dict[str, Any]", each) if isinstance(each, dict) else {} for each in parts]
    return "".join(str(each.get("text", "")) for each in fields)


def _prompt(fields: dict[str, Any]) -> str:
    prompt: object = fields.get("prompt")
    if not isinstance(prompt, str):
        raise bad_request("prompt must be a string (a stub takes one, and no token ids)", "prompt")
    return prompt


def _max_tokens(fields: dict[str, Any], *, chat: bool) -> int | None:
    value: object = fields.get("max_completion_tokens") if chat else None
    value = fields.get("max_tokens") if value is None else value
    if value is None:
        return None if chat else _DEFAULT_COMPLETION
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise bad_request(f"max_tokens must be at least 1, got {value!r}.", "max_tokens")
    return value


def _require_room(
    prompt_tokens: int, max_tokens: int | None, settings: EngineSettings, *, chat: bool
) -> None:
    total = prompt_tokens + (max_tokens or 1)
    if total <= settings.max_model_len:
        return
    what = "messages" if chat else "prompt"
    raise bad_request(
        f"This model's maximum context length is {settings.max_model_len} tokens. However, you "
        f"requested {total} tokens ({prompt_tokens} in the {what}, {max_tokens or 1} in the "
        f"completion). Please reduce the length of the {what} or completion.",
        "input_tokens",
    )


def _include_usage(fields: dict[str, Any], *, stream: bool) -> bool:
    options: object = fields.get("stream_options")
    if options is None:
        return False
    if not stream:
        raise bad_request(
            "Stream options can only be defined when `stream=True`.", "stream_options"
        )
    if not isinstance(options, dict):
        raise bad_request("stream_options must be an object", "stream_options")
    return _switch(cast("dict[str, Any]", options), "include_usage")


def _switch(fields: dict[str, Any], name: str) -> bool:
    value: object = fields.get(name, False)
    if value is not None and not isinstance(value, bool):
        raise bad_request(f"{name} must be true or false, got {value!r}.", name)
    return bool(value)
