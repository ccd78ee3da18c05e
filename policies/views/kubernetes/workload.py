"""One view of everything that runs pods, whatever the kind.

`pods_of` finds pod templates in built-in workloads, LeaderWorkerSets, InferenceServices and their
runtimes, and anywhere inside other custom resources. Fields are read when a rule asks for them, so
that an unknown field only stops the rules that need it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

from models.core import quantities
from policies.core.context import is_house
from policies.core.nodes import Node, partly_known
from policies.views.kubernetes.images import image_of
from policies.views.kubernetes.manifest import Manifest
from policies.views.kubernetes.podspecs import FoundPodSpec, pod_specs
from policies.views.kubernetes.words import words_of

_ACCELERATOR: Final = re.compile(
    r"^(nvidia\.com/|amd\.com/gpu|gpu\.intel\.com/|google\.com/tpu|aws\.amazon\.com/neuron"
    r"|habana\.ai/|huawei\.com/ascend)",
    re.IGNORECASE,
)
_ENGINE_IMAGE: Final = re.compile(r"(^|[/_-])vllm", re.IGNORECASE)
_OTHER_IMAGE: Final = re.compile(
    r"(^|[_-])(sim|simulator|mock|fake|cpu|router|exporter|operator|controller)([_-]|$)",
    re.IGNORECASE,
)
"""What is named after the engine without being one, by the last part of its repository."""


class Role(StrEnum):
    """When a container runs. A native sidecar is an init container that never ends."""

    INIT = "init"
    SIDECAR = "sidecar"
    MAIN = "main"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """A pod template with the object that owns it."""

    manifest: Manifest
    found: FoundPodSpec

    @property
    def label(self) -> str:
        """The owner's label."""
        return self.manifest.label

    @property
    def spec(self) -> Node:
        """The pod's spec."""
        return self.found.spec

    @property
    def namespace(self) -> str | None:
        """The owner's namespace."""
        return self.manifest.namespace

    def annotations(self) -> dict[str, str]:
        """Return the template's annotations, and the owner's where it passes them on."""
        own = self.found.metadata["annotations"].strings()
        return {**self.manifest.annotations(), **own} if self.found.inherits else own

    def labels(self) -> dict[str, str]:
        """Return the template's labels."""
        return self.found.metadata["labels"].strings()

    def containers(self) -> Iterator["Container"]:
        """Yield init containers, sidecars, main and ephemeral containers."""
        if self.found.model is not None:
            yield Container(pod=self, node=self.found.model, role=Role.MAIN)
        for node in self.spec["initContainers"].items():
            always = node["restartPolicy"].text() == "Always"
            yield Container(pod=self, node=node, role=Role.SIDECAR if always else Role.INIT)
        for node in self.spec["containers"].items():
            yield Container(pod=self, node=node, role=Role.MAIN)
        for node in self.spec["ephemeralContainers"].items():
            yield Container(pod=self, node=node, role=Role.SIDECAR)

    def volume(self, name: str) -> Node | None:
        """Return a volume by its name."""
        for node in self.spec["volumes"].items():
            if node["name"].text() == name:
                return node
        return None

    @property
    def follows(self) -> bool:
        """Whether this is a worker of a group whose leader answers for it."""
        path = self.spec.path
        led = self.manifest.spec.at("leaderWorkerTemplate", "leaderTemplate").value is not None
        return path.endswith("workerSpec") or (led and "workerTemplate" in path)

    @property
    def takes_accelerators(self) -> bool:
        """Whether any container asks for a GPU or the like."""
        return any(container.accelerators() for container in self.containers())

    @property
    def claims_devices(self) -> bool:
        """Whether the pod is given devices by resource claims (dynamic resource allocation)."""
        return any(True for _ in self.spec["resourceClaims"].items())

    @property
    def runs_engine(self) -> bool:
        """Whether any container runs vLLM."""
        return any(container.is_engine for container in self.containers())


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    """One container of a pod."""

    pod: Pod
    node: Node
    role: Role

    @property
    def label(self) -> str:
        """The owner's label."""
        return self.pod.label

    @property
    def called(self) -> str:
        """What messages call it: its name, or where it stands."""
        name = self.node["name"].value
        return repr(name) if isinstance(name, str) else self.node.path

    @property
    def image(self) -> str | None:
        """The image's reference."""
        return self.node["image"].text()

    @property
    def inherits(self) -> bool:
        """Whether KServe adds what is absent here, from a runtime or a base configuration."""
        merged = self.pod.manifest.is_kind("LLMInferenceService")
        if self.pod.manifest.completed:
            return False
        return merged or self.pod.found.model is self.node

    def environment(self) -> dict[str, str]:
        """Return the variables with literal values."""
        return {
            node["name"].text() or "": partly_known(node["value"]) or ""
            for node in self.node["env"].items()
            if not node["valueFrom"].present
        }

    def words(self) -> tuple[str, ...]:
        """Return command and arguments as words."""
        parts = [*self.node["command"].words(), *self.node["args"].words()]
        needs_environment = any("$" in part for part in parts)
        return words_of(parts, self.environment() if needs_environment else {})

    def quantity(self, side: str, resource: str) -> Fraction | None:
        """Return a request or limit; `side` is `requests` or `limits`."""
        return quantity(self.node.at("resources", side, resource))

    def accelerators(self) -> dict[str, Fraction]:
        """Return GPUs and the like by resource name, as limited or requested, zeroes left out."""
        found: dict[str, Fraction] = {}
        for side in ("requests", "limits"):
            for name, node in self.node.at("resources", side).pairs():
                amount = quantity(node) if _ACCELERATOR.match(name) else None
                if amount:
                    found[name] = max(amount, found.get(name, amount))
        return found

    def gpus(self) -> int:
        """Return how many accelerators the container asks for."""
        return int(sum(self.accelerators().values()))

    @property
    def is_engine(self) -> bool:
        """Whether this runs vLLM: its command says so, or its image where it has no command."""
        words = self.words()
        if self._has_other_image:
            return False
        if _says_engine(words):
            return True
        if self.inherits:
            return _model_format(self.node) in ("vllm", "huggingface")
        return self.has_engine_image and (
            not self.node["command"].present or bool(self.accelerators())
        )

    @property
    def has_engine_image(self) -> bool:
        """Whether a main container's image is one of vLLM, by its name."""
        repository = image_of(self.image or "").repository
        *_, owner, name = ("", *repository.lower().split("/"))
        named = owner == "vllm" or _ENGINE_IMAGE.search(name) is not None
        return named and self.role is Role.MAIN and not self._has_other_image

    @property
    def _has_other_image(self) -> bool:
        """Whether the image is a CPU build, a simulator or a tool that is named after vLLM."""
        image = image_of(self.image or "")
        if _OTHER_IMAGE.search(image.repository.rsplit("/", 1)[-1]):
            return True
        return re.search(r"(^|[-_.])cpu([-_.]|$)", image.tag or "") is not None

    def mounts(self) -> dict[str, Node]:
        """Return volume mounts by their path, without a trailing slash."""
        return {
            (node["mountPath"].text() or "").rstrip("/") or "/": node
            for node in self.node["volumeMounts"].items()
        }


def quantity(node: Node) -> Fraction | None:
    """Return the amount that a field holds; None where it is absent."""
    if not node.present:
        return None
    value = node.value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return quantities.parse(value)
    return quantities.parse(node.text() or "")


def _says_engine(words: tuple[str, ...]) -> bool:
    for index, word in enumerate(words):
        if word.startswith("vllm.entrypoints"):
            return True
        if word.rsplit("/", 1)[-1] == "vllm" and words[index + 1 : index + 2] == ("serve",):
            return True
    return False


def _model_format(node: Node) -> str:
    return (node.at("modelFormat", "name").text() or "").lower()


def concerns_us(pod: Pod) -> bool:
    """Whether a pod is of this project, takes accelerators or runs an engine."""
    takes = pod.takes_accelerators or pod.claims_devices
    return is_house(pod.namespace) or takes or pod.runs_engine


def pods_of(manifest: Manifest) -> Iterator[Pod]:
    """Yield every pod template of an object."""
    for found in pod_specs(manifest):
        yield Pod(manifest=manifest, found=found)
