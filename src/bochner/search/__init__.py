"""Column treatment, and later the budgeted choice of family, learner, bandwidth and size."""
