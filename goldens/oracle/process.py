"""Post-processes weights in the engine's own order: quantization methods, attention, model.

Layers of experts that are alike are processed once, and the change in what is alive is counted for
the others: kernels that repack expert by expert would take minutes on fake tensors.
"""

from collections import Counter
from typing import Any

from goldens.oracle.counting import Sizes, count
from goldens.oracle.engine import package


def processed(model: Any, config: Any, device: Any) -> tuple[Sizes, list[str]]:
    """Post-process a model; return its storages, and what could not be processed, by kind."""
    loader = package("vllm.model_executor.model_loader.utils")
    base = package("vllm.model_executor.layers.quantization.base_config").QuantizeMethodBase
    failures: set[str] = set()
    loader.maybe_retie_word_embeddings(model, config.model_config)
    alike: dict[tuple[object, ...], list[Any]] = {}
    for _, module in model.named_modules():
        method = getattr(module, "quant_method", None)
        if not isinstance(method, base):
            continue
        kind = _kind(module, method)
        if kind is None:
            _try(failures, method, lambda m=method, o=module: _method(loader, m, o, device))
        else:
            alike.setdefault(kind, []).append(module)
    change: Sizes = Counter()
    for modules in alike.values():
        change.update(_once(modules, failures, loader, device))
    for _, module in model.named_modules():
        if loader.is_deferred_attention_layer(module):
            dtype = config.model_config.dtype
            _try(failures, module, lambda o=module, d=dtype: o.process_weights_after_loading(d))
    if hasattr(model, "process_weights_after_loading"):
        _try(failures, model, model.process_weights_after_loading)
    sizes = count()
    sizes.update(change)
    return sizes, sorted(failures)


def _kind(module: Any, method: Any) -> tuple[object, ...] | None:
    """Return what makes layers of quantized experts alike; None for all other layers."""
    shapes = [(name, tuple(value.shape)) for name, value in module.named_parameters(recurse=False)]
    is_experts = any(len(shape) >= 3 for _, shape in shapes)
    if not is_experts or type(method).__name__.startswith("Unquantized"):
        return None
    return (type(method).__name__, *sorted(shapes))


def _once(modules: list[Any], failures: set[str], loader: Any, device: Any) -> Sizes:
    """Process the first layer; return the change in storages that the others would make."""
    first, others = modules[0], len(modules) - 1
    before = count()
    method = first.quant_method
    _try(failures, method, lambda: _method(loader, method, first, device))
    change = count()
    change.subtract(before)
    return Counter({size: times * others for size, times in change.items() if times})


def _method(loader: Any, method: Any, module: Any, device: Any) -> None:
    with loader.device_loading_context(module, device):
        method.process_weights_after_loading(module)


def _try(failures: set[str], what: Any, run: Any) -> None:
    try:
        run()
    except Exception as error:
        text = " ".join(str(error).split())
        failures.add(f"{type(what).__name__}: {type(error).__name__}: {text[:120]}")
