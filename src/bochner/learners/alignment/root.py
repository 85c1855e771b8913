"""One safeguarded root (Chandrupatla 1997): bisection, or inverse quadratic where it is safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_ROUNDS = 200
_EPS = 2.0**-52


@dataclass(frozen=True)
class Bracket:
    """f(low) >= 0 >= f(high), low <= high, for a falling f."""

    low: float
    at_low: float
    high: float
    at_high: float

    @property
    def root(self) -> float:
        """The end where |f| is smaller."""
        return self.low if abs(self.at_low) < abs(self.at_high) else self.high

    @property
    def value(self) -> float:
        """f at `root`."""
        return min(self.at_low, self.at_high, key=abs)


def find_root(f: Callable[[float], float], bracket: Bracket, tolerance: float = 1e-15) -> Bracket:
    """The bracket narrowed until |f| <= tolerance at an end or no number lies between."""
    a, fa, b, fb = bracket.low, bracket.at_low, bracket.high, bracket.at_high
    c, fc, t = a, fa, 0.5
    for _ in range(_ROUNDS):
        best = min(abs(fa), abs(fb))
        if best <= tolerance or abs(b - a) <= 2.0 * _EPS * max(abs(a), abs(b)) or fa == fb:
            break
        x = a + t * (b - a)
        fx = f(x)
        if (fx > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        t = _share(a, fa, b, fb, c, fc)
    return Bracket(a, fa, b, fb) if a <= b else Bracket(b, fb, a, fa)


def _share(a: float, fa: float, b: float, fb: float, c: float, fc: float) -> float:
    """How far from a towards b to look next."""
    t = 0.5
    xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
    if phi**2 < xi and (1.0 - phi) ** 2 < 1.0 - xi:
        t = fa / (fb - fa) * fc / (fb - fc)
        t += (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    least = 2.0 * _EPS * max(abs(a), abs(b)) / abs(b - a)
    return min(max(t, least), 1.0 - least)
