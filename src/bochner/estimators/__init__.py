"""The scikit-learn edge: validation, tags, parameters; no mathematics."""
