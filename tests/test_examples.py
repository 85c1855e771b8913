"""Every example in a docstring is run, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import bochner

MODULES = [
    module.name
    for module in pkgutil.walk_packages(bochner.__path__, "bochner.")
    if not module.name.endswith("__main__")
]
WITH_EXAMPLES = [
    name
    for name in MODULES
    if ">>>" in Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")
]
#: Contracts to subclass and small helpers between rooms, which a user does not start from.
WITHOUT = {
    "bochner.families": {"Family", "as_family"},
    "bochner.learners": {"Learner", "Needs", "as_learner", "check_needs"},
    "bochner.linear": {"Head", "as_head", "sigmoid", "softmax"},
    "bochner.datasets": {"DataUnavailableError", "Dataset", "names"},
}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_are_true(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize(
    "name",
    [
        "bochner",
        "bochner.certificates",
        "bochner.datasets",
        "bochner.families",
        "bochner.learners",
        "bochner.linear",
    ],
)
def test_public_names_have_an_example(name):
    room = importlib.import_module(name)
    public = set(room.__all__) - WITHOUT.get(name, set())
    without = [n for n in public if ">>>" not in (inspect.getdoc(getattr(room, n)) or "")]
    assert not without


def test_there_are_examples_to_run():
    assert len(WITH_EXAMPLES) > 30
