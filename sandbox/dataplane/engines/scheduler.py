"""One engine's generation: requests wait for a place, read the prefix cache, and yield tokens."""

import asyncio
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from sandbox.dataplane.engines import tokens
from sandbox.dataplane.engines.behavior import QUIET, EngineBehavior
from sandbox.dataplane.engines.bodies import Generation
from sandbox.dataplane.engines.metrics import EngineMetrics
from sandbox.dataplane.engines.prefix_cache import PrefixCache
from sandbox.dataplane.engines.settings import EngineSettings


@dataclass(kw_only=True, slots=True)
class GenerationProgress:
    """What one request has come to."""

    arrived: float
    cached_tokens: int = 0
    generated: int = 0
    finished: str = "abort"
    last: float = 0.0
    """When the newest token came, or the first is waited for since."""


class Scheduler:
    """At most `max_num_seqs` requests generate at a time; the others wait in order."""

    def __init__(self, settings: EngineSettings) -> None:
        self.behavior: EngineBehavior = QUIET
        self.metrics = EngineMetrics(settings)
        self.running = 0
        self.waiting = 0
        self._settings = settings
        self._places = asyncio.Semaphore(settings.max_num_seqs)
        self._cache = PrefixCache(settings.kv_blocks)
        self._blocks_in_use = 0
        self.metrics.show(["vllm:num_requests_running"], lambda: self.running)
        self.metrics.show(["vllm:num_requests_waiting"], lambda: self.waiting)
        self.metrics.show(
            ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
            lambda: min(1.0, self._blocks_in_use / settings.kv_blocks),
        )

    def begin(self) -> GenerationProgress:
        """Return the progress of a request that arrives now."""
        return GenerationProgress(arrived=time.monotonic())

    async def tokens(
        self, generation: Generation, progress: GenerationProgress
    ) -> AsyncGenerator[str]:
        """Yield the answer's tokens; closing the generator early is an abort."""
        await self._place()
        started = time.monotonic()
        blocks = -(-(generation.prompt_tokens + generation.limit) // self._settings.block_size)
        # The engine takes blocks as tokens come; one bound from the beginning is near enough.
        blocks = min(blocks, self._settings.kv_blocks)
        self._blocks_in_use += blocks
        progress.last = started
        self.metrics.observe(["vllm:request_queue_time_seconds"], started - progress.arrived)
        try:
            async for token in self._generate(generation, progress):
                yield token
        finally:
            self._blocks_in_use -= blocks
            self.running -= 1
            self._places.release()
            self._finish(generation, progress, started)

    async def _place(self) -> None:
        self.waiting += 1
        try:
            await self._places.acquire()
        finally:
            self.waiting -= 1
        self.running += 1

    async def _generate(
        self, generation: Generation, progress: GenerationProgress
    ) -> AsyncGenerator[str]:
        uncached = generation.prompt_tokens - self._look_up(generation, progress)
        behavior = self.behavior
        await asyncio.sleep(behavior.first_token_sec + uncached * behavior.prefill_sec_per_token)
        self.metrics.count(["vllm:prompt_tokens"], generation.prompt_tokens)
        number = min(behavior.output_tokens, generation.limit)
        for index in range(number):
            if index:
                await asyncio.sleep(self.behavior.inter_token_sec)
            progress.generated = index + 1
            self._count_token(progress)
            yield tokens.word(index)
        progress.finished = "stop" if number == behavior.output_tokens else "length"

    def _look_up(self, generation: Generation, progress: GenerationProgress) -> int:
        """Return how many tokens of the prompt the cache holds; hold them all from now on."""
        if not self._settings.prefix_caching:
            return 0
        size = self._settings.block_size
        hashes = list(tokens.block_hashes(generation.prompt, size))
        # The last token is always computed: its output is the first token of the answer.
        usable = hashes[: (generation.prompt_tokens - 1) // size]
        progress.cached_tokens = self._cache.hits(usable) * size
        self._cache.keep(hashes)
        queries = ["vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"]
        hits = ["vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"]
        self.metrics.count(queries, generation.prompt_tokens)
        self.metrics.count([*hits, "vllm:prompt_tokens_cached"], progress.cached_tokens)
        return progress.cached_tokens

    def _count_token(self, progress: GenerationProgress) -> None:
        now = time.monotonic()
        if progress.generated == 1:
            names = ["vllm:time_to_first_token_seconds"]
            self.metrics.observe(names, now - progress.arrived)
        else:
            names = ["vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"]
            self.metrics.observe(names, now - progress.last)
        progress.last = now
        self.metrics.count(["vllm:generation_tokens"], 1)

    def _finish(self, generation: Generation, progress: GenerationProgress, started: float) -> None:
        now = time.monotonic()
        observe = self.metrics.observe
        self.metrics.count(["vllm:request_success"], 1, finished_reason=progress.finished)
        observe(["vllm:e2e_request_latency_seconds"], now - progress.arrived)
        observe(["vllm:request_inference_time_seconds"], now - started)
        observe(["vllm:request_prompt_tokens"], generation.prompt_tokens)
        observe(["vllm:request_generation_tokens"], progress.generated)
        if generation.max_tokens is not None:
            observe(["vllm:request_params_max_tokens"], generation.max_tokens)
