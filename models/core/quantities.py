"""Kubernetes quantities, exactly: `0.5` is `500m`, `1Gi` is `1048576Ki`, `1e3` is `1k`."""

import re
from fractions import Fraction
from typing import Final

_SUFFIXES: Final = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", start=1)},
}
_FORM: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))")
_EXPONENT_MAX: Final = 100


class InvalidQuantityError(ValueError):
    """The text is no quantity that Kubernetes would take."""


def parse(value: str | float) -> Fraction:
    """Return a quantity's exact value in its base unit (cores, bytes, devices).

    Raises `InvalidQuantityError`. A number stands for its decimal notation.
    """
    text = repr(value) if isinstance(value, float) else str(value)
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidQuantityError(f"{text!r} is not a quantity (examples: 500m, 0.5, 16Gi)")
    number, exponent, suffix = match.groups()
    base = Fraction(number.rstrip(".") if number.endswith(".") else number)
    if exponent is not None:
        if abs(int(exponent)) > _EXPONENT_MAX:
            raise InvalidQuantityError(f"{text!r} has an exponent out of any range")
        return base * Fraction(10) ** int(exponent)
    if suffix not in _SUFFIXES:
        raise InvalidQuantityError(
            f"{text!r} has no suffix that Kubernetes knows ({', '.join(filter(None, _SUFFIXES))})"
        )
    return base * _SUFFIXES[suffix]
