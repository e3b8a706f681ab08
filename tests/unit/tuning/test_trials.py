"""The file of trials: a search goes on where it ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aboard
from aboard.base import resources
from aboard.base.measured_cost import MeasuredCost
from aboard.compiler.pipeline import Module
from aboard.device.measure import Measurement
from aboard.errors import InputError
from aboard.tuner.trials import Trials, beside, key_of

MEASURED = Measurement(
    (MeasuredCost(5, "ticks", 1), MeasuredCost(7, "ticks")), MeasuredCost(13, "ticks", 2), 1000, True
)


@pytest.fixture(scope="module")
def digits() -> Module:
    return aboard.compile(resources.models() / "digits.tflite", target="c -mcpu=cortex-m4")


def test_what_was_measured_is_there_in_the_next_search(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.json.trials"
    Trials(path).add("one", MEASURED)
    Trials(path).add("two", MEASURED)
    assert Trials(path).find("one") == MEASURED
    assert Trials(path).find("three") is None
    assert beside(tmp_path / "t.json") == tmp_path / "t.json.trials"


def test_a_line_that_was_not_written_to_its_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.json.trials"
    Trials(path).add("one", MEASURED)
    text = path.read_text()
    path.write_text(text + text.replace("one", "two")[:-9] + "\nnonsense\n\xff\n")
    found = Trials(path)
    assert (found.find("one"), found.find("two")) == (MEASURED, None)


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    trials = Trials(None)
    trials.path = tmp_path
    with pytest.raises(InputError, match=r": trials cannot be written, got Is a directory, expected a file"):
        trials.add("one", MEASURED)


def test_without_a_file_nothing_is_kept() -> None:
    trials = Trials(None)
    trials.add("one", MEASURED)
    assert trials.find("one") == MEASURED


def test_the_key_tells_code_conditions_and_inputs_apart(digits: Module) -> None:
    feed = {"input": np.zeros(4, np.int8)}
    other = {"input": np.ones(4, np.int8)}
    changed = Module(digits.manifest, {**digits.files, "src/digits.c": "other"})
    keys = [
        key_of(digits, ("a",), [feed]),
        key_of(digits, ("b",), [feed]),
        key_of(digits, ("a",), [other]),
        key_of(digits, ("a",), [feed, other]),
        key_of(changed, ("a",), [feed]),
    ]
    assert len(set(keys)) == 5
    assert key_of(digits, ("a",), [dict(feed)]) == keys[0]
