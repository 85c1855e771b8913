"""One module an experiment, called as the experiment is; a leading underscore hides a helper."""
