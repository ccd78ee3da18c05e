"""What a stub engine reads of its container, and the cache and the metric names that follow."""

import re
from pathlib import Path

import pytest
import yaml

from catalog.loader import load
from sandbox.core.kube import Object
from sandbox.core.paths import PROJECT_ROOT
from sandbox.dataplane.engines import tokens
from sandbox.dataplane.engines.addresses import AddressFile, EngineAddresses
from sandbox.dataplane.engines.metrics import EngineMetrics
from sandbox.dataplane.engines.prefix_cache import PrefixCache
from sandbox.dataplane.engines.settings import RefusedCommandError, settings_of
from sandbox.dataplane.pods.pod import SELECTOR, EnginePod

pytestmark = pytest.mark.pure

ENGINES = load().engines
NEWEST = ENGINES["0.33.0"]


def test_names_lengths_and_port_are_those_of_the_command() -> None:
    words = ["vllm", "serve", "/models/m", "--port=8123", "--served-model-name", "a", "b"]
    words += ["--max_model_len=4k", "--max-num-seqs", "7", "--block-size=32"]
    settings = settings_of([*words, "--no-enable-prefix-caching"], {}, NEWEST)
    assert (settings.root, settings.names, settings.port) == ("/models/m", ("a", "b"), 8123)
    # The engine's parser takes 4k for 4000 (4K would be 4096).
    assert (settings.max_model_len, settings.max_num_seqs, settings.block_size) == (4000, 7, 32)
    assert not settings.prefix_caching


def test_an_image_with_an_entry_point_needs_arguments_only() -> None:
    settings = settings_of(["--model", "org/name"], {"VLLM_API_KEY": "k"}, NEWEST)
    assert (settings.root, settings.names, settings.port) == ("org/name", ("org/name",), 8000)
    assert settings.api_keys == {"k"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["m", "--no-such-option=1"], "no option --no-such-option"),
        (["m", "--max-num-seqs=many"], "--max-num-seqs takes a whole number"),
        (["m", "other"], "takes one model only"),
        (["--max-num-seqs=3"], "names no model"),
    ],
)
def test_a_command_that_the_engine_refuses_is_refused(words: list[str], text: str) -> None:
    with pytest.raises(RefusedCommandError, match=re.escape(text)):
        settings_of(["vllm", "serve", *words], {}, NEWEST)


@pytest.mark.parametrize("release", ENGINES)
def test_every_release_exposes_exactly_the_metrics_of_its_contract(release: str) -> None:
    contract = ENGINES[release]
    text = EngineMetrics(settings_of(["m"], {}, contract)).exposition().decode()
    # In the text format a counter's family is named with its suffix.
    families = {
        metric.name if metric.type == "histogram" else metric.exposed[0]
        for metric in contract.metrics
    }
    assert set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE)) == families
    series = {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")}
    assert series <= {name for metric in contract.metrics for name in metric.exposed}


def test_a_common_beginning_gives_common_blocks() -> None:
    # Blocks of 2 tokens are 8 bytes: 24 bytes are 3 blocks, and a rest is none.
    one = list(tokens.block_hashes(b"a" * 16 + b"b" * 8, 2))
    other = list(tokens.block_hashes(b"a" * 16 + b"c" * 11, 2))
    assert len(one) == len(other) == 3
    assert one[:2] == other[:2]
    assert one[2] != other[2]
    # Equal text at another place is another block.
    assert one[0] != one[1]


def test_the_cache_gives_up_the_end_of_what_was_used_longest_ago() -> None:
    cache = PrefixCache(4)
    cache.keep([b"a1", b"a2", b"a3"])
    cache.keep([b"b1"])
    assert cache.hits([b"a1", b"a2"]) == 2
    cache.keep([b"c1"])
    assert len(cache) == 4
    assert cache.hits([b"a1", b"a2", b"a3"]) == 2
    assert cache.hits([b"b1"]) == cache.hits([b"c1"]) == 1
    assert cache.hits([b"a2"]) == 1


def no_secret(_namespace: str, _name: str, _key: str) -> str | None:
    return None


def snapshot_engines() -> list[tuple[str, Object]]:
    """Return the pod templates of all engines that the environments' programs make."""
    files = sorted((PROJECT_ROOT / "tests" / "snapshots").rglob("engine.yaml"))
    objects: list[Object] = [
        each for file in files for each in yaml.safe_load(file.read_text()).values()
    ]
    templates = [each["spec"]["template"] for each in objects if each["kind"] == "StatefulSet"]
    return [(each["metadata"]["labels"]["app.kubernetes.io/instance"], each) for each in templates]


def test_every_environments_engines_are_taken_as_their_pods_start_them() -> None:
    engines = snapshot_engines()
    key, _, value = SELECTOR.partition("=")
    assert {template["metadata"]["labels"][key] for _, template in engines} == {value}
    # dev has two models, staging eight, prod twelve in two regions and two at the edge.
    assert len(engines) >= 20
    for name, template in engines:
        settings = EnginePod(template).settings(ENGINES, no_secret)
        assert settings.names == (name,)
        assert settings.port == 8000
        assert (
            f"--max-model-len={settings.max_model_len}" in template["spec"]["containers"][0]["args"]
        )


def test_another_process_reads_addresses_from_the_file(tmp_path: Path) -> None:
    file = AddressFile(path=tmp_path / "engines.json")
    reader: EngineAddresses = AddressFile(path=file.path)
    assert reader.port_of("10.244.0.7", 8000) is None
    file.write({("10.244.0.7", 8000): 31000, ("10.244.0.8", 8000): 31001})
    assert reader.port_of("10.244.0.7", 8000) == 31000
    assert reader.port_of("10.244.0.7", 8001) is None
    file.write({("10.244.0.8", 8000): 31001})
    assert reader.port_of("10.244.0.7", 8000) is None
