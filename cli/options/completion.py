"""Names that the shell completes; the catalog is read only then."""


def models(incomplete: str) -> list[str]:
    """Return the catalog's models that begin with what was typed."""
    from catalog.loader import load

    return [name for name in load().models if name.startswith(incomplete)]


def gpus(incomplete: str) -> list[str]:
    """Return the catalog's cards that begin with what was typed."""
    from catalog.loader import load

    return [name for name in load().accelerators if name.startswith(incomplete)]
