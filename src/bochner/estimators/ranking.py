"""Ranked tables of named columns for weights that come from elsewhere; see `learners.ranking`."""

from ..learners.ranking import SelectionTable, ranked, selection_table

__all__ = ["SelectionTable", "ranked", "selection_table"]
