"""The papers' experiments, one description each: ``python -m bochner.experiments NAME``.

An experiment lists trials (which rows, which methods, what the paper printed); `run` measures
them and gives a table "ours / paper"; ``docs/experiments.md`` says how to add one.
"""

from __future__ import annotations

from .curve import AtSize, curve, of_curve
from .describe import Experiment, Figure, Method, Outcome, Picture, SizeOf, Trial
from .find import find, names
from .heads import Penalised
from .kernel_machines import KernelMachine
from .methods import Features, Model
from .result import Line, Result
from .run import run
from .scores import ERROR_PERCENT, RELATIVE, RMSE, Score
from .splits import Split, by_group, official, shuffled

__all__ = [
    "ERROR_PERCENT",
    "RELATIVE",
    "RMSE",
    "AtSize",
    "Experiment",
    "Features",
    "Figure",
    "KernelMachine",
    "Line",
    "Method",
    "Model",
    "Outcome",
    "Penalised",
    "Picture",
    "Result",
    "Score",
    "SizeOf",
    "Split",
    "Trial",
    "by_group",
    "curve",
    "find",
    "names",
    "of_curve",
    "official",
    "run",
    "shuffled",
]
