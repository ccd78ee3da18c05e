"""Settings: what is wrong is said at once, with path, value, what is allowed and the remedy."""

import json
from pathlib import Path
from typing import Any, Final, cast

import pytest
import yaml

from models.core.problems import ProblemsError
from models.engine.profiles import Environment
from models.settings.settings import parse

pytestmark = pytest.mark.pure

ROOT: Final = Path(__file__).resolve().parents[3]


def dev() -> dict[str, Any]:
    """Return the dev stack's settings as plain data."""
    read = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())
    return cast("dict[str, Any]", read["config"]["triplane:platform"])


def problems(settings: dict[str, Any]) -> str:
    """Return the text of what is wrong; fails where nothing is."""
    with pytest.raises(ProblemsError) as caught:
        parse(json.dumps(settings))
    return str(caught.value)


def test_the_dev_stack_parses() -> None:
    settings = parse(json.dumps(dev()))
    assert settings.environment is Environment.DEV
    assert [region.name for region in settings.regions] == ["local"]


def test_all_problems_are_told_at_once() -> None:
    """One at a time costs a user one run per mistake."""
    settings = dev()
    settings["enviroment"] = settings.pop("environment")
    settings["regions"][0]["pools"][0]["min"] = 9
    settings["regions"][0]["cluster"]["context"] = ""
    text = problems(settings)
    assert "enviroment" in text
    assert "environment: field required" in text
    assert "lower min or raise max" in text
    assert "regions[0].cluster.context: string should have at least 1 character" in text
    assert text.startswith("settings triplane:platform: 4 problems")


def test_an_unknown_pool_is_named_with_those_that_exist() -> None:
    settings = dev()
    settings["models"][0]["pool"] = "gpu-h100-pool"
    text = problems(settings)
    assert "models[0].pool" in text
    assert "'gpu-h100-pool'" in text
    assert "gpu-edge-pool, gpu-l4-pool, cpu-pool" in text


def test_a_number_as_text_is_refused() -> None:
    """Strict: "3" may be a typo for something else, and is not 3."""
    settings = dev()
    settings["models"][0]["replicas"] = "3"
    assert "models[0].replicas" in problems(settings)


def test_replicas_beside_autoscaling_are_refused() -> None:
    settings = dev()
    settings["models"][1]["replicas"] = 2
    assert "exactly one of replicas (fixed) and autoscaling" in problems(settings)


NOT_YET: Final = [
    ("control", {"delivery": "gitops"}, "GitOps delivery"),
    ("gateway", {"rate_limit": {"tokens_per_minute": 9000}}, "limits of tokens"),
    ("gateway", {"prefix_affinity": True}, "prefix-affine routing"),
    ("autoscaling", {"provider": "hpa"}, "the HPA provider"),
    ("cache", {"cpu_gib": 8.0}, "KV cache tiers"),
    ("observability", {"dashboards": True}, "dashboards"),
    ("alerting", {"slack_secret": "slack"}, "alert routing"),
]


@pytest.mark.parametrize(("key", "value", "what"), NOT_YET, ids=lambda each: str(each)[:30])
def test_a_setting_whose_component_does_not_exist_is_refused(
    key: str, value: object, what: str
) -> None:
    """Ignoring it would let a user believe that it works."""
    text = problems({**dev(), key: value})
    assert what in text
    assert "does not exist yet" in text


@pytest.mark.parametrize("argument", ["max_model_len", "max_num_seqs", "kv_cache_memory_bytes"])
def test_an_argument_that_no_run_can_have_is_refused_with_the_rest(argument: str) -> None:
    """2^60; a number that is a mistake must not end the program where the plan resolves."""
    settings = dev()
    settings["models"][0]["engine"] = {argument: 1 << 60}
    assert f"models[0].engine.{argument}" in problems(settings)


PROVIDER: Final[dict[str, Any]] = {
    "name": "saas",
    "schema_name": "OpenAI",
    "hostname": "api.example.com",
    "model": "m",
    "api_key_secret": "saas-key",
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"schema_name": "AzureOpenAI"}, "AzureOpenAI needs api_version"),
        ({"schema_name": "AWSBedrock"}, "AWSBedrock needs aws_region"),
        ({"aws_region": "us-east-1"}, "OpenAI has no use for aws_region"),
        ({"schema_name": "Cohere", "path_prefix": "/v1"}, "Cohere has no use for path_prefix"),
        ({"hostname": "https://api.example.com"}, "hostname"),
        ({"models": ["mixtral-8x7b-instruct"]}, "no such model in region 'local'"),
    ],
)
def test_a_provider_says_what_it_needs_and_nothing_else(changed: dict[str, Any], said: str) -> None:
    settings = dev()
    settings["regions"][0]["fallback_providers"] = [{**PROVIDER, **changed}]
    assert said in problems(settings)


def test_providers_of_a_region_have_names_of_their_own() -> None:
    settings = dev()
    settings["regions"][0]["fallback_providers"] = [PROVIDER, PROVIDER]
    assert "names fallback providers twice: saas" in problems(settings)


@pytest.mark.parametrize(
    ("gateway", "said"),
    [
        ({"clients": ["a"], "api_keys_secret": "keys"}, "clients and api_keys_secret are both"),
        ({"clients": ["a", "b", "a"]}, "clients are named twice: a"),
        ({"rate_limit": {"requests_per_second": 50}}, "without keys nobody knows who asks"),
        ({"traffic": {"retries": 6}}, "gateway.traffic.retries"),
    ],
)
def test_limits_by_client_need_to_know_clients(gateway: dict[str, Any], said: str) -> None:
    assert said in problems({**dev(), "gateway": gateway})


def test_text_that_is_not_json_is_one_clear_problem() -> None:
    with pytest.raises(ProblemsError, match="write valid JSON"):
        parse("{environment: dev")
