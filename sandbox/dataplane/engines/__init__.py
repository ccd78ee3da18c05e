"""Stub engines: they speak the OpenAI API as vLLM does, for pods that run nothing.

Text is made up; what matters to a gateway is as in the real engine: paths, errors, streams, metric
names, queueing, prefix-cache hits, and how one starts, drains and dies. ADR 0025 says why all
engines share one process.
"""
