"""`KGramEncoder`: sequences of letters as sparse rows of k-grams with readable names."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...families.base import check_option
from ...rows import RowSource
from ...rows.adapt import as_source
from ...rows.files import rows_per_block
from ...rows.optional import is_dask
from ...rows.source import BLOCK_BYTES
from .encoding import UNEQUAL_ADVICE, Encoder, encode_in_memory
from .layout import GramLayout
from .letters import as_sequences, n_letters, slices
from .settings import (
    check_alphabet,
    check_some_known,
    check_width,
    gram_lengths,
    learned_alphabet,
    whole,
)
from .source import EncodedSource, SequenceChunks
from .survey import SURVEY_ROWS, Survey, SurveySum


class KGramEncoder(TransformerMixin, BaseEstimator):
    """Sequences as sparse rows of k-grams: one column a gram and position, or counts of grams.

    Sinha & Duchi 2016, section 4: x_(k, p, g) = 1 if the k letters from position p on are g. For
    L positions and an alphabet of A letters these are sum_k A^k (L - k + 1) columns: 105,476 for
    81 letters over ACGT and k = 1 .. 5. Columns are ordered by k, position, gram.

    Parameters
    ----------
    k : int or (int, int), default=(1, 5)
        Lengths of grams, both ends included.
    alphabet : str or sequence of letters, default=None
        None learns it in `fit`: all letters seen, sorted.
    positional : bool, default=True
        Is a gram at another position another column (1 where it stands), or are grams counted
        wherever they stand?
    length : int, default=None
        How many positions there are, where they count; None is the longest sequence in `fit`.
    unequal : {"error", "left", "right"}, default="error"
        Sequences of another length, where positions count: refuse them; line up the first letters
        ("left"); or line up the last letters and count positions from the end ("right": the last
        letter is at -1). Shorter ones set fewer columns, and letters beyond the positions are left
        out. With ``positional=False`` any length will do.
    unknown : {"ignore", "error"}, default="ignore"
        Letters outside the alphabet (the N of a sequencer, say): a gram that contains one sets no
        column, or an error.
    ignore_case : bool, default=True
        Are ``a`` and ``A`` the same letter? Names are then in upper case.
    dtype : float32 or float64, default=float32
        Of the rows.

    Attributes
    ----------
    alphabet_ : tuple of str
    length_ : int or None
        Positions, None where they do not count.
    n_columns_ : int

    Notes
    -----
    X is a list, array or Series of strings, a DataFrame of one column of them, or an array of
    single letters, n x L (strings, bytes, or character codes such as uint8; code 0 is a gap). A
    scan, a Dask collection, or a function that returns an iterator of chunks is encoded as a
    stream: `transform` then gives an iterable of CSR blocks, which is also a source of rows that
    goes where ``X`` goes, so that a pipeline streams from end to end.

    Positions count from 0: ``GGTTG@60`` is letters 60 to 64. A sequence is one thing and not so
    many columns, so ``n_features_in_`` is not set (as in scikit-learn's vectorizers of text).

    Examples
    --------
    >>> from bochner import KGramEncoder
    >>> grams = KGramEncoder(k=2).fit(["GATT", "CATT"])
    >>> X = grams.transform(["GATT"])
    >>> [str(grams.get_feature_names_out()[j]) for j in X.indices]
    ['GA@0', 'AT@1', 'TT@2']
    """

    def __init__(
        self,
        k: Any = (1, 5),
        alphabet: Any = None,
        positional: bool = True,
        *,
        length: int | None = None,
        unequal: str = "error",
        unknown: str = "ignore",
        ignore_case: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        self.k = k
        self.alphabet = alphabet
        self.positional = positional
        self.length = length
        self.unequal = unequal
        self.unknown = unknown
        self.ignore_case = ignore_case
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the alphabet and the number of positions, where they are not given; y is unused."""
        self._check_settings()
        k_lo, k_hi = gram_lengths(self.k)
        given = None if self.alphabet is None else check_alphabet(self.alphabet, self.ignore_case)
        survey = _survey(X)
        alphabet = given or learned_alphabet(survey.codes, self.ignore_case)
        length = self._positions(survey, k_lo) if self.positional else None
        end = self.unequal == "right"
        layout = GramLayout(alphabet, k_lo, k_hi, length, end, bool(self.ignore_case))
        check_width(layout)
        check_some_known(layout, survey)
        self._layout, self._longest = layout, survey.longest
        self.alphabet_, self.length_, self.n_columns_ = alphabet, length, layout.n_columns
        return self

    def transform(self, X: Any) -> Any:
        """The rows of X as CSR; for a stream an iterable of CSR blocks, itself a source of rows."""
        check_is_fitted(self)
        encoder = Encoder(
            self._layout, self.unequal == "error", self.unknown == "error", np.dtype(self.dtype)
        )
        if is_stream(X):
            passes = 1 if hasattr(X, "__next__") else None
            return EncodedSource(_source(X, passes), encoder, self._step(self._longest))
        rows = as_sequences(X)
        return encode_in_memory(rows, encoder, self._step(n_letters(rows) // max(1, len(rows))))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The name of every column; `names_of` makes those of some only."""
        check_is_fitted(self)
        if self.n_columns_ > 50_000_000:
            raise MemoryError(
                f"{self.n_columns_:,} names take about {self.n_columns_ * 70 / 1e9:.0f} GB. Ask "
                "for those you need: names_of(columns)."
            )
        return self.names_of(np.arange(self.n_columns_))

    def names_of(self, columns: Any) -> NDArray[np.object_]:
        """The names of these columns, such as ``GGTTG@60``, or ``GGTTG`` without positions."""
        check_is_fitted(self)
        columns = np.asarray(columns)
        if columns.size and not 0 <= columns.min() <= columns.max() < self.n_columns_:
            raise IndexError(f"columns must be between 0 and {self.n_columns_ - 1}.")
        return np.array(self._layout.names(columns), dtype=object)

    def _check_settings(self) -> None:
        check_option("KGramEncoder", "unequal", self.unequal, ("error", "left", "right"))
        check_option("KGramEncoder", "unknown", self.unknown, ("ignore", "error"))
        if np.dtype(self.dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, got {self.dtype!r}.")
        if self.length is not None:
            whole("length", self.length)

    def _positions(self, survey: Survey, k_lo: int) -> int:
        length = survey.longest if self.length is None else int(self.length)
        if self.unequal == "error" and {survey.shortest, survey.longest} - {length}:
            raise ValueError(
                f"Sequences have {survey.shortest} to {survey.longest} letters, and positions are "
                f"counted over {length}. {UNEQUAL_ADVICE}"
            )
        if length < k_lo:
            raise ValueError(
                f"k={self.k!r}, but there are only {length} positions: no gram fits. Lower k."
            )
        return length

    def _step(self, letters: int) -> int:
        """Rows in one piece: what the columns of about one block take."""
        letters = letters if self.length_ is None else min(self.length_, max(letters, 1))
        n_k = self._layout.k_hi - self._layout.k_lo + 1
        return rows_per_block(BLOCK_BYTES, letters * n_k * (4 + np.dtype(self.dtype).itemsize))

    @property
    def _n_features_out(self) -> int:
        return self.n_columns_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def is_stream(X: Any) -> bool:
    """Is X something to be visited in blocks, rather than sequences in memory?"""
    return isinstance(X, RowSource) or is_dask(X) or callable(X) or hasattr(X, "__next__")


def _source(X: Any, passes: int | None = None) -> RowSource:
    if isinstance(X, RowSource) or is_dask(X):
        return as_source(X, allow_frame=True)
    return SequenceChunks(X, passes)


def _survey(X: Any) -> Survey:
    survey = Survey()
    if is_stream(X):
        survey = _source(X).reduce(SurveySum())
    else:
        for letters in slices(as_sequences(X), SURVEY_ROWS):
            survey = survey.merge(Survey.of(letters))
    if not survey.n:
        raise ValueError("X holds no sequences; give at least one.")
    return survey
