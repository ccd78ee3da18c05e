"""The objects of the OpenAI API that an engine answers with."""

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from sandbox.dataplane.engines.bodies import Generation
from sandbox.dataplane.engines.scheduler import GenerationProgress
from sandbox.dataplane.engines.settings import EngineSettings

Fields = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineAnswer:
    """One answer: its identity, and the forms that it is sent in."""

    generation: Generation
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, text: str, progress: GenerationProgress) -> Fields:
        """Return the answer of a request without a stream."""
        choice: Fields = {"index": 0, "logprobs": None, "finish_reason": progress.finished}
        if self.generation.chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        name = "chat.completion" if self.generation.chat else "text_completion"
        return {**self._head(name), "choices": [choice], "usage": self.usage(progress)}

    def chunk(self, text: str, *, finished: str | None = None, first: bool = False) -> Fields:
        """Return one chunk of a stream; a chat's first one names the role."""
        choice: Fields = {"index": 0, "logprobs": None, "finish_reason": finished}
        if self.generation.chat:
            choice["delta"] = {**({"role": "assistant"} if first else {}), "content": text}
        else:
            choice["text"] = text
        return {**self._head(self._chunk_name), "choices": [choice]}

    def usage_chunk(self, progress: GenerationProgress) -> Fields:
        """Return the chunk that `stream_options.include_usage` asks for."""
        return {**self._head(self._chunk_name), "choices": [], "usage": self.usage(progress)}

    def usage(self, progress: GenerationProgress) -> Fields:
        """Return the request's token counts."""
        prompt = self.generation.prompt_tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": progress.generated,
            "total_tokens": prompt + progress.generated,
        }

    @property
    def _chunk_name(self) -> str:
        return "chat.completion.chunk" if self.generation.chat else "text_completion"

    def _head(self, name: str) -> Fields:
        prefix = "chatcmpl" if self.generation.chat else "cmpl"
        return {
            "id": f"{prefix}-{self.identity}",
            "object": name,
            "created": self.created,
            "model": self.generation.model,
        }


def event(fields: Fields) -> bytes:
    """Return an object as a server-sent event."""
    return b"data: " + json.dumps(fields).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def models(settings: EngineSettings, created: int) -> Fields:
    """Return the list of models."""
    rows: list[Fields] = [
        {
            "id": name,
            "object": "model",
            "created": created,
            "owned_by": "vllm",
            "root": settings.root,
            "parent": None,
            "max_model_len": settings.max_model_len,
        }
        for name in settings.names
    ]
    return {"object": "list", "data": rows}
