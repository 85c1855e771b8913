"""The type that every bound returns, and the checks that they share."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Certificate:
    """A statement of what is guaranteed, with everything it rests on.

    Printing one gives three lines: the statement, what it assumes, what it was computed from.

    Parameters
    ----------
    name : str
        The bound and where it is printed.
    bound : float
        ``quantity`` is at most this. Infinite where the theory says nothing; never NaN.
    empirical : float or None
        What was measured on the rows, where the bound starts from a measurement.
    complexity : float
        What the bound pays for having chosen with the data (which number: see the function).
    delta : float
        The statement holds with probability at least 1 - delta, all its parts together.
    quantity : str
        The exact quantity that is bounded, in words.
    assumptions : tuple of str
        What has to be true for the statement to hold.
    vacuous : bool
        Is the bound no smaller than what is true without any data?
    broken : tuple of str
        Assumptions known not to hold here: with any, the number is no guarantee.
    details : mapping
        The parts of the bound and the arguments it was computed from.

    Examples
    --------
    >>> from bochner.certificates import alignment_deviation
    >>> certificate = alignment_deviation(n=1_000_000, rho=200.0, delta=0.05)
    >>> round(certificate.bound, 3), certificate.vacuous
    (0.104, False)
    """

    name: str
    bound: float
    empirical: float | None
    complexity: float
    delta: float
    quantity: str
    assumptions: tuple[str, ...]
    vacuous: bool
    broken: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("bound", "complexity", "empirical"):
            value = getattr(self, name)
            if value is not None and math.isnan(value):
                raise ValueError(f"a certificate's {name} must be a number, but it is NaN.")
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    @property
    def holds(self) -> bool:
        """Is no assumption known to be broken?"""
        return not self.broken

    def __str__(self) -> str:
        return "\n".join((self._statement(), self._assumed(), self._measured()))

    def _statement(self) -> str:
        chance = "always" if self.delta == 0 else f"with probability >= {1 - self.delta:.4g}"
        empty = " VACUOUS: it is so without any data." if self.vacuous else ""
        return f"{self.name}: {self.quantity} <= {self.bound:.4g}, {chance}.{empty}"

    def _assumed(self) -> str:
        broken = f" NOT A GUARANTEE HERE, broken: {'; '.join(self.broken)}." if self.broken else ""
        return f"Assumes: {'; '.join(self.assumptions)}.{broken}"

    def _measured(self) -> str:
        seen = "nothing measured" if self.empirical is None else f"measured {self.empirical:.4g}"
        given = ", ".join(f"{k} = {_short(v)}" for k, v in self.details.items())
        return f"From: {seen}, complexity {self.complexity:.4g}; {given}."

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain Python objects; an infinite bound is None, so that JSON takes it."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["details"] = {name: _plain(v) for name, v in self.details.items()}
        for name in ("assumptions", "broken"):
            values[name] = list(values[name])
        return {name: _plain(value) for name, value in values.items()} | {"holds": self.holds}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "details": dict(self.details)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["details"] = MappingProxyType(state["details"])


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isinf(value) else value


def check_number(
    name: str, value: Any, low: float, advice: str, *, open_end: bool = False
) -> float:
    """``value`` as a float no less than ``low`` (greater, with ``open_end``); infinity passes."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    number = float(value)
    if math.isnan(number) or number < low or (open_end and number == low):
        sign = ">" if open_end else ">="
        raise ValueError(f"{name} must be {sign} {low:g}, got {value!r}: {advice}")
    return number


def check_count(name: str, value: Any, low: int, advice: str) -> int:
    """``value`` as an int no less than ``low``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < low:
        raise ValueError(f"{name} must be at least {low}, got {value}: {advice}")
    return int(value)


def check_delta(delta: Any, parts: int = 1) -> float:
    """A probability of failure in (0, 1); with several ``parts``, of each one of them."""
    if isinstance(delta, bool) or not isinstance(delta, numbers.Real):
        raise TypeError(f"delta must be a number, got {delta!r}.")
    if not 0 < float(delta) * parts < 1:
        most = "1" if parts == 1 else f"1/{parts} (the statement holds at 1 - {parts} delta)"
        raise ValueError(
            f"delta must be above 0 and below {most}, got {delta!r}: it is the probability with "
            "which the bound may fail, 0.05 for instance."
        )
    return float(delta)
