"""Benchmarks that measure ratios: ours against a named baseline in the same run.

python -m benchmarks ops|stream|heads [--json FILE]
"""
