"""The settings of a `KGramEncoder`, checked and resolved."""

from __future__ import annotations

import numbers
from typing import Any

from .layout import MAX_COLUMNS, GramLayout
from .survey import Survey


def check_width(layout: GramLayout) -> None:
    if layout.n_columns <= MAX_COLUMNS:
        return
    where = f" at {layout.length} positions" if layout.length is not None else ""
    raise ValueError(
        f"Grams of {layout.k_lo} to {layout.k_hi} letters over an alphabet of "
        f"{len(layout.alphabet)}{where} make {layout.n_columns:,} columns; at most {MAX_COLUMNS:,} "
        "can be indexed. Lower k, give the alphabet you mean (alphabet='ACGT'), or count grams "
        "wherever they stand (positional=False)."
    )


def check_some_known(layout: GramLayout, survey: Survey) -> None:
    known = [c for c in survey.codes if c < len(layout.table) and layout.table[c] >= 0]
    if survey.codes and not known:
        seen = "".join(map(chr, sorted(survey.codes)[:20]))
        raise ValueError(
            f"None of the letters of these sequences ({seen!r}) is in the alphabet "
            f"{''.join(layout.alphabet)!r}. Give the alphabet they are written in, or None to "
            "learn it" + ("." if layout.fold_case else "; or set ignore_case=True.")
        )


def gram_lengths(k: Any) -> tuple[int, int]:
    """(shortest, longest) gram from ``k``."""
    ends = k if isinstance(k, tuple | list) else (k, k)
    if len(ends) != 2:
        raise ValueError(f"k must be a whole number or (shortest, longest), got {k!r}.")
    lo, hi = whole("k", ends[0]), whole("k", ends[1])
    if lo > hi:
        raise ValueError(f"k={k!r} runs downwards; give (shortest, longest), both included.")
    return lo, hi


def whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be made of whole numbers, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}.")
    return int(value)


def check_alphabet(alphabet: Any, ignore_case: bool) -> tuple[str, ...]:
    """The letters in the order given; upper case where case is ignored."""
    letters = tuple(alphabet)
    odd = [a for a in letters if not isinstance(a, str) or len(a) != 1 or a == "\0"]
    if odd or not letters:
        raise ValueError(
            f"alphabet must be single letters such as 'ACGT', got {odd[0] if odd else alphabet!r}."
        )
    letters = tuple(upper(a) for a in letters) if ignore_case else letters
    twice = sorted({a for a in letters if letters.count(a) > 1})
    if twice:
        raise ValueError(
            f"alphabet={alphabet!r} has {twice} twice"
            + (
                " (upper and lower case are one letter, unless ignore_case=False)."
                if ignore_case
                else "."
            )
        )
    return letters


def learned_alphabet(codes: frozenset[int], ignore_case: bool) -> tuple[str, ...]:
    """All letters seen, sorted."""
    letters = {chr(c) for c in codes}
    control = sorted(a for a in letters if ord(a) < 32)
    if control:
        raise ValueError(
            f"The sequences contain {control}: strip line ends and the like first, or give the "
            "alphabet, which leaves them out."
        )
    if not letters:
        raise ValueError("The sequences have no letters at all; give the alphabet, or other rows.")
    return tuple(sorted({upper(a) for a in letters} if ignore_case else letters))


def upper(letter: str) -> str:
    """Upper case, where that is one letter too."""
    return letter.upper() if len(letter.upper()) == 1 else letter
