"""Engine arguments: written as the engine takes them, and read back wherever they stand."""

from typing import Any

import pytest
from pydantic import ValidationError

from catalog.loader import load
from catalog.readers.profiles import profile_text
from models.cases.cases import arguments_of_case, case_of
from models.cases.profiles import MemoryProfile
from models.core.problems import ProblemsError
from models.engine.arguments import ARGUMENTS, EngineArguments, ServeArguments, ValueKind
from models.engine.command import Parser
from models.engine.serve import arguments_in, command_line, problems_of
from models.engine.startup_log import Measured, read_log
from models.engine.values import count_of

pytestmark = pytest.mark.pure

ENGINES = load().engines
PINNED = ENGINES["0.33.0"]


def value_of(name: str) -> Any:
    """Return a value that is not the engine's own choice: of a closed set the first."""
    argument = ARGUMENTS[name]
    if argument.kind is ValueKind.SWITCH:
        return name != "enable_prefix_caching"
    flag = PINNED.flag(argument.option)
    texts = [each for each in (flag and flag.choices) or ("FLASHINFER",) if each != "auto"]
    return {ValueKind.COUNT: 3, ValueKind.NUMBER: 0.5, ValueKind.TEXT: texts[0]}[argument.kind]


def serve(**given: Any) -> ServeArguments:
    least = {"gpu_memory_utilization": 0.9, "max_model_len": 8192, "kv_cache_dtype": "auto"}
    return ServeArguments.model_validate(
        {"model_path": "/m", "served_model_name": "m", **least, **given}
    )


def read(*words: str, version: str = "0.33.0") -> EngineArguments:
    return arguments_in(Parser(ENGINES[version]).read(words))


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_written_as_the_release_takes_it_and_read_back(name: str) -> None:
    words = command_line(serve(**{name: value_of(name)}), PINNED)
    assert problems_of(words, PINNED, "test") == []
    assert getattr(read(*words), name) == value_of(name)


def test_a_command_line_is_what_the_engines_documentation_writes() -> None:
    words = command_line(
        serve(tensor_parallel_size=2, enable_prefix_caching=False, enforce_eager=True), PINNED
    )
    assert words[1:4] == ("--host=0.0.0.0", "--port=8000", "--served-model-name=m")
    assert words[4:] == (
        "--gpu-memory-utilization=0.9",
        "--max-model-len=8192",
        "--kv-cache-dtype=auto",
        "--tensor-parallel-size=2",
        "--no-enable-prefix-caching",
        "--enforce-eager",
    )


@pytest.mark.parametrize(
    "words",
    [
        ("-tp", "4", "-q", "fp8", "-dp=2", "-ep"),
        ("--tensor-p=4", "--quantization=fp8", "--data_parallel_size", "2", "-ep"),
        ("-tp=2", "-tp=4", "-q=fp8", "-dp=2", "--enable-expert-parallel"),
    ],
)
def test_every_spelling_of_the_engines_parser_means_the_same(words: tuple[str, ...]) -> None:
    """Short options, underscores, abbreviations; of several the last one counts."""
    found = read(*words)
    assert (found.tensor_parallel_size, found.data_parallel_size) == (4, 2)
    assert found.quantization == "fp8"
    assert found.enable_expert_parallel
    assert found.gpus == 8


def test_a_switch_is_off_by_the_spellings_that_its_release_has() -> None:
    assert read("--disable-prefix-caching").enable_prefix_caching is False
    assert read("--no-enable-prefix-caching", version="0.9.2").enable_prefix_caching is False
    assert read().enable_prefix_caching is None


@pytest.mark.parametrize(
    ("text", "count"),
    [("4096", 4096), ("32k", 32_000), ("32K", 32_768), ("1.5k", 1500), ("1.5", None), ("x", None)],
)
def test_counts_have_the_suffixes_of_the_engines_parser(text: str, count: int | None) -> None:
    assert count_of(text) == count


def test_a_share_that_is_no_number_is_not_taken() -> None:
    with pytest.raises(ValueError, match="most"):
        read("--gpu-memory-utilization=most")
    with pytest.raises(ValidationError):
        read("--gpu-memory-utilization=1.5")


def test_a_line_may_call_arguments_as_we_do_or_as_the_engine_does() -> None:
    ours = {"tp": 4, "pp": 2, "ep": 8, "quant": "fp8", "speculative_tokens": 3, "dcp": 2}
    engines = {
        "tensor_parallel_size": 4,
        "pipeline_parallel_size": 2,
        "enable_expert_parallel": True,
        "quantization": "fp8",
        "num_speculative_tokens": 3,
        "decode_context_parallel_size": 2,
    }
    one, unused = case_of(ours, ENGINES)
    other, also_unused = case_of(engines, ENGINES)
    assert arguments_of_case(one) == arguments_of_case(other)
    assert unused == also_unused == ()
    assert arguments_of_case(one).num_speculative_tokens == 3


def test_what_a_line_says_wins_over_what_an_option_fills_in_whatever_it_is_called() -> None:
    """`triplane budget --cases` puts options before the line's own fields."""
    line = {"tensor_parallel_size": 4, "quantization": None}
    found, _ = case_of({"tp": 2, "quant": "fp8", **line}, ENGINES)
    assert (found.tensor_parallel_size, found.quantization) == (4, "fp8")


def test_a_fault_of_a_line_is_told_by_the_lines_own_name() -> None:
    with pytest.raises(ProblemsError) as told:
        case_of({"tp": 0}, ENGINES)
    assert [problem.path for problem in told.value.problems] == ["tp"]


def test_a_switch_among_names_and_values_can_be_off() -> None:
    found, _ = case_of({"args": {"enable_prefix_caching": False, "-dp": 2}}, ENGINES)
    assert found.enable_prefix_caching is False
    assert found.data_parallel_size == 2


def test_the_flags_of_a_line_are_read_as_its_release_reads_them() -> None:
    """`-ep` came after 0.9.2; there it is an option that nobody knows."""
    new, _ = case_of({"args": "-ep"}, ENGINES)
    old, _ = case_of({"args": "-ep", "vllm_version": "0.9.2"}, ENGINES)
    assert (new.enable_expert_parallel, old.enable_expert_parallel) == (True, False)


def test_what_stands_before_the_flags_is_not_taken_for_them() -> None:
    text = "docker run --gpus all -v /cache:/root -p 8000:8000 vllm/vllm-openai:v0.33.0 m -tp 2"
    found, _ = case_of({"args": text}, ENGINES)
    assert found.tensor_parallel_size == 2


def test_a_profile_keeps_the_names_that_files_have() -> None:
    """Profiles are people's files: an argument that is renamed here would make them unreadable."""
    profile = MemoryProfile(
        name="p",
        model="m",
        gpu="g",
        version="0.33.0",
        arguments=EngineArguments(
            max_model_len=4096,
            tensor_parallel_size=2,
            enable_expert_parallel=True,
            decode_context_parallel_size=2,
            cpu_offload_gb=1.0,
            num_speculative_tokens=1,
        ),
        measured=Measured(),
        source="log",
    )
    text = profile_text(profile)
    for line in ("tensor: 2", "expert_parallel: true", "context: 2", "cpu_offload_gib: 1.0"):
        assert f"  {line}\n" in text
    assert MemoryProfile.model_validate_json(profile.model_dump_json()) == profile


def test_a_log_tells_arguments_by_the_engines_names() -> None:
    text = (
        "non-default args: {'tensor_parallel_size': 2, 'decode_context_parallel_size': 2, "
        "'cpu_offload_gb': 4.0, 'dtype': torch.bfloat16}"
    )
    assert read_log(text).settings == {
        "tensor_parallel_size": "2",
        "decode_context_parallel_size": "2",
        "cpu_offload_gb": "4.0",
        "dtype": "bfloat16",
    }
