"""A stub engine over HTTP: answers, streams, errors, metrics, and how it is steered and ended."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Generator
from typing import Any

import pytest
import requests

from sandbox.core.paths import PROJECT_ROOT
from tests.helpers.sandbox.cluster import until
from tests.helpers.sandbox.stub_engines import StubEngine, command, events, stub_engine

pytestmark = [pytest.mark.process, pytest.mark.timeout(60)]


@pytest.fixture(scope="module")
def running() -> Generator[StubEngine]:
    """One engine for the tests that leave it as it was."""
    with stub_engine("--block-size=16", "--max-num-seqs=2") as engine:
        yield engine


@pytest.fixture
def engine(running: StubEngine) -> StubEngine:
    """The same engine with its first behavior."""
    running.steer(
        first_token_sec=0.0, inter_token_sec=0.0, output_tokens=16, error_status=None, errors=None
    )
    return running


def test_the_models_are_the_served_names(engine: StubEngine) -> None:
    (model,) = requests.get(f"{engine.url}/v1/models", timeout=10).json()["data"]
    assert (model["id"], model["root"], model["max_model_len"]) == ("small", "/models/m/abc", 512)
    assert requests.get(f"{engine.url}/version", timeout=10).json() == {"version": "0.24.0"}
    for path in ("health", "ping"):
        assert requests.get(f"{engine.url}/{path}", timeout=10).status_code == 200


def test_a_chat_has_text_and_usage(engine: StubEngine) -> None:
    answer = engine.chat("hello", max_tokens=5).json()
    (choice,) = answer["choices"]
    assert answer["object"] == "chat.completion"
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"]
    assert choice["finish_reason"] == "length"
    # "<|user|>hello\n<|assistant|>" is 27 bytes, four a token.
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    assert answer["usage"] == usage
    assert engine.chat("hello").json()["choices"][0]["finish_reason"] == "stop"


def test_a_stream_carries_the_same_text_and_usage_where_asked(engine: StubEngine) -> None:
    whole = engine.chat("hello").json()
    response = engine.chat("hello", stream=True, stream_options={"include_usage": True})
    assert response.headers["Content-Type"].startswith("text/event-stream")
    *chunks, usage = events(response)
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    text = "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 17 + ["stop"]
    assert usage["choices"] == []
    assert usage["usage"] == whole["usage"]
    assert len({chunk["id"] for chunk in [*chunks, usage]}) == 1
    assert all("usage" not in event for event in events(engine.chat("hello", stream=True)))


def test_a_completion_takes_a_prompt(engine: StubEngine) -> None:
    url = f"{engine.url}/v1/completions"
    body: dict[str, Any] = {"model": "small", "prompt": "x" * 40}
    answer = requests.post(url, json=body, timeout=10).json()
    assert (answer["object"], answer["usage"]["prompt_tokens"]) == ("text_completion", 10)
    streamed = events(requests.post(url, json={**body, "stream": True}, timeout=10))
    text = "".join(chunk["choices"][0]["text"] for chunk in streamed)
    assert text == answer["choices"][0]["text"]


@pytest.mark.parametrize(
    ("body", "status", "kind", "text"),
    [
        ({"model": "other", "messages": []}, 404, "NotFoundError", "`other` does not exist"),
        ({"model": "small", "messages": []}, 400, "BadRequestError", "messages"),
        ({"messages": [{"role": "user"}], "max_tokens": 0}, 400, "BadRequestError", "at least 1"),
        (
            {"messages": [{"role": "user", "content": "x" * 2048}]},
            400,
            "BadRequestError",
            "maximum context length is 512 tokens",
        ),
        (
            {"messages": [{"role": "user", "content": "x"}], "max_tokens": 507},
            400,
            "BadRequestError",
            "513 tokens (6 in the messages, 507 in the completion)",
        ),
        ({"messages": [{"role": "user"}], "stream_options": {}}, 400, "BadRequestError", "stream"),
    ],
)
def test_a_bad_request_is_refused_as_the_engine_refuses_it(
    engine: StubEngine, body: dict[str, object], status: int, kind: str, text: str
) -> None:
    answer = requests.post(f"{engine.url}/v1/chat/completions", json=body, timeout=10)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, status, kind)
    assert text in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b""])
def test_a_body_that_is_no_json_object_is_400(engine: StubEngine, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    url = f"{engine.url}/v1/chat/completions"
    answer = requests.post(url, data=body, headers=headers, timeout=10)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, 400)


def test_a_common_prefix_is_a_hit_from_the_second_request_on(engine: StubEngine) -> None:
    """Rates of hits are what the routing bench measures."""
    before = engine.metric("vllm:prefix_cache_hits_total")
    # "<|user|>" and 248 bytes are 256: 64 tokens in 4 blocks of 16, all shared; the rest differs.
    shared = "The same beginning. " * 12 + "12345678"
    engine.chat(shared + "first question")
    assert engine.metric("vllm:prefix_cache_hits_total") == before
    engine.chat(shared + "another question")
    assert engine.metric("vllm:prefix_cache_hits_total") == before + 64


def test_counters_add_up_over_requests(engine: StubEngine) -> None:
    names = {
        "vllm:generation_tokens_total": 20,
        "vllm:prompt_tokens_total": 14,
        "vllm:request_success_total": 2,
        "vllm:time_to_first_token_seconds_count": 2,
        "vllm:inter_token_latency_seconds_count": 18,
        "vllm:e2e_request_latency_seconds_count": 2,
    }
    before = {name: engine.metric(name) for name in names}
    for _ in range(2):
        engine.chat("hello", max_tokens=10)
    assert {name: engine.metric(name) - before[name] for name in names} == names


def test_more_requests_than_places_wait(engine: StubEngine) -> None:
    engine.steer(first_token_sec=1.0)
    threads = [threading.Thread(target=engine.chat, args=("hello",)) for _ in range(5)]
    for thread in threads:
        thread.start()
    until(lambda: engine.metric("vllm:num_requests_waiting") == 3, "three requests wait")
    assert engine.metric("vllm:num_requests_running") == 2
    assert 0 < engine.metric("vllm:kv_cache_usage_perc") <= 1
    for thread in threads:
        thread.join()
    assert engine.metric("vllm:num_requests_running") == 0
    assert engine.metric("vllm:kv_cache_usage_perc") == 0


def test_latency_is_as_steered(engine: StubEngine) -> None:
    engine.steer(first_token_sec=0.3, inter_token_sec=0.1, output_tokens=4)
    began = time.monotonic()
    response = engine.chat("hello", stream=True)
    # Headers come at once: a timeout on them does not see a slow first token.
    assert time.monotonic() - began < 0.25
    assert len(events(response)) == 6
    assert 0.6 <= time.monotonic() - began < 2.0


def test_ordered_errors_come_as_often_as_ordered(engine: StubEngine) -> None:
    engine.steer(error_status=503, errors=2)
    assert [engine.chat("hello").status_code for _ in range(3)] == [503, 503, 200]


def test_a_client_that_goes_frees_its_place(engine: StubEngine) -> None:
    engine.steer(inter_token_sec=5.0)
    engine.chat("hello", stream=True).close()
    until(lambda: engine.metric("vllm:num_requests_running") == 0, "the place is free", 5)


def test_an_engine_with_a_key_refuses_without_it() -> None:
    with stub_engine(variables={"VLLM_API_KEY": "right"}) as engine:
        url = f"{engine.url}/v1/models"
        for key, status in (("right", 200), ("wrong", 401)):
            headers = {"Authorization": f"Bearer {key}"}
            assert requests.get(url, headers=headers, timeout=10).status_code == status
        assert requests.get(url, timeout=10).json() == {"error": "Unauthorized"}
        assert requests.get(f"{engine.url}/health", timeout=10).status_code == 200


def test_an_engine_that_dies_in_mid_stream_leaves_half_an_answer() -> None:
    with stub_engine() as engine:
        engine.steer(dies_after_tokens=3)
        received: list[bytes] = []
        with pytest.raises(requests.RequestException):
            received += engine.chat("hello", stream=True).iter_lines()
        assert b"data: [DONE]" not in received
        with pytest.raises(requests.ConnectionError):
            engine.chat("hello")


def test_a_terminated_engine_finishes_streams_and_takes_no_more() -> None:
    with stub_engine() as engine:
        engine.steer(inter_token_sec=0.2, output_tokens=8)
        response = engine.chat("hello", stream=True)
        engine.terminate()
        health = f"{engine.url}/health"
        until(lambda: requests.get(health, timeout=5).status_code == 503, "health is 503", 5)
        assert engine.chat("hello").status_code == 503
        # A chat of 8 tokens is 8 chunks, and one each for role and end.
        assert len(events(response)) == 10
        assert engine.process.wait(timeout=10) == 0


def test_a_stream_longer_than_the_grace_is_cut() -> None:
    with stub_engine() as engine:
        engine.steer(inter_token_sec=30.0)
        response = engine.chat("hello", stream=True)
        began = time.monotonic()
        engine.terminate()
        with pytest.raises(requests.RequestException):
            list(response.iter_lines())
        assert 4.0 < time.monotonic() - began < 9.0
        assert engine.process.wait(timeout=10) == 0


def test_an_option_that_the_release_lacks_ends_the_process() -> None:
    done = subprocess.run(
        command(["m", "--no-such-option"]),
        cwd=PROJECT_ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "no option --no-such-option" in done.stderr


def test_a_behavior_that_is_none_is_refused_and_changes_nothing(engine: StubEngine) -> None:
    url = f"{engine.control}/engines/local/engine/behavior"
    answer = requests.patch(url, data=json.dumps({"output_tokens": 0}), timeout=10)
    assert answer.status_code == 400
    engines = requests.get(f"{engine.control}/engines", timeout=10).json()["engines"]
    assert [(each["pod"], each["behavior"]["output_tokens"]) for each in engines] == [
        ("engine", 16)
    ]
    missing = url.replace("local", "elsewhere")
    assert requests.patch(missing, json={}, timeout=10).status_code == 404
