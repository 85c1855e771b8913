"""Sequences of letters as sparse rows of k-grams.

A sequence passes through these files in order: `letters` (any form, as letters end to end),
`survey` (one pass for `fit`), `layout` (which column a gram has), `encoding` (CSR rows),
`source` (the same as a stream), `encoder` (the scikit-learn transformer).
"""

from .encoder import KGramEncoder

__all__ = ["KGramEncoder"]
