"""Explicit Taylor features of the Gaussian kernel."""

from .family import Taylor

__all__ = ["Taylor"]
