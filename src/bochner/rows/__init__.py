"""Where data comes from, and how a sum runs over it."""

from .block import Block, Frame, working_dtype
from .memory import MemorySource
from .progress import Checkpoint, Event, Hook, StopFit
from .reduce import reduce
from .sample import RowSample, draw_sample
from .source import RowSource, RowSum, Schema
from .state import RowState

__all__ = [
    "Block",
    "Checkpoint",
    "Event",
    "Frame",
    "Hook",
    "MemorySource",
    "RowSample",
    "RowSource",
    "RowState",
    "RowSum",
    "Schema",
    "StopFit",
    "draw_sample",
    "reduce",
    "working_dtype",
]
