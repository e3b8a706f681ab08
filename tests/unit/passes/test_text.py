"""Pipelines as text: what is read, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.errors import PassError
from aboard.passes import HOST, NEUTRAL, Pass, Pipeline, host, neutral, register, registered, registry
from aboard.passes.divide_wide_nodes import DivideWideNodes
from aboard.passes.fold_constants import FoldConstants
from aboard.passes.remove_channels import RemoveChannels
from aboard.passes.remove_dead_code import RemoveDeadCode
from aboard.passes.text import parse

DEFAULT = (
    "enter-constants,move-transposes,fuse-quantisation,remove-dead-code,move-transposes,fold-constants,remove-no-ops,"
    "merge-reshapes,remove-dead-code,partition,"
    "fuse-dilation,fuse-padding,trim-windows,fuse-activations,remove-dead-code,drop-clamps,remove-channels,"
    "depthwise-form,fully-connected-form,divide-wide-nodes"
)

WORDS = [*"{},=- \n\x00é0", "fold-constants", "partition", "remove-dead-code", "remove-channels", "block=2"]


class Idle(Pass):
    """Does nothing."""

    name: ClassVar[str] = "idle"

    def run(self, graph):
        pass

    def pending(self, graph):
        return None


@dataclass(frozen=True)
class Optioned(Idle):
    """Has an option of each type."""

    name: ClassVar[str] = "optioned"

    count: int = 3
    fast: bool = False
    word: str = "none"


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    registered()
    monkeypatch.setattr(registry, "_PASSES", dict(registry._PASSES))


def test_the_default_as_text():
    assert str(Pipeline()) == DEFAULT
    assert parse(DEFAULT) == Pipeline(NEUTRAL, HOST)


def test_options_that_differ_from_their_default_are_part_of_the_text():
    pipeline = Pipeline(NEUTRAL, host(4))
    assert "remove-channels{block=4}," in str(pipeline)
    assert parse(str(pipeline)) == pipeline
    register(Optioned)
    read = parse("optioned{count=-2 fast=on word=a.b},optioned{}, optioned { fast = off }")
    assert read.after == (Optioned(-2, True, "a.b"), Optioned(), Optioned())
    assert str(read) == "partition,optioned{count=-2 fast=on word=a.b},optioned,optioned"


def test_without_partition_every_pass_comes_after_it():
    read = parse(" remove-dead-code ,remove-channels{ block=2 } ")
    assert read == Pipeline((), (RemoveDeadCode(), RemoveChannels(2)))
    assert parse("fold-constants,partition").before == (FoldConstants(),)
    assert parse("") == Pipeline((), ())
    assert read.names == ["partition", "remove-dead-code", "remove-channels"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fold-constant", r"passes: unknown pass fold-constant\. Did you mean fold-constants, enter-constants\?"),
        ("partitoin", r"passes: unknown pass partitoin\. Did you mean partition.*\?"),
        ("fold-constants,", r"passes: column 16, got the end, expected the name of a pass\. Write it as in .*"),
        (",", r"passes: column 1, got ',', expected the name of a pass\. Write it as in .*"),
        ("fold-constants remove-no-ops", r"passes: column 16, got 'remove-no-ops', expected ','\. Write it as in .*"),
        (
            "fold-constants;remove-no-ops",
            r"passes: column 15, got ';', expected a name, ',', '\{', '\}' or '='\. Write it as in .*",
        ),
        ("remove-channels{block", r"passes: column 22, got the end, expected '='\. Write it as in .*"),
        ("remove-channels{block=", r"passes: column 23, got the end, expected a value\. Write it as in .*"),
        (
            "remove-channels{block=4",
            r"passes: column 24, got the end, expected the name of an option\. Write it as in .*",
        ),
        ("remove-channels{blok=4}", r"passes: remove-channels has no option blok\. Did you mean block\?"),
        ("fold-constants{block=4}", r"passes: fold-constants has no option block\. Leave it out\."),
        ("remove-channels{block=4 block=2}", r"passes: remove-channels has the option block twice\. Give it once"),
        (
            "remove-channels{block=four}",
            r"passes: remove-channels: block, got four, expected a whole number\. Correct the value",
        ),
        ("remove-channels{block=0}", r"passes: remove-channels: block, got 0, expected 1 or more\. Raise it"),
        ("optioned{fast=yes}", r"passes: optioned: fast, got yes, expected on or off\. Correct the value"),
        (
            "fuse-quantisation{arithmetic=foo}",
            r"passes: fuse-quantisation: arithmetic, got foo, expected tflite or exact\. Correct the value",
        ),
        ("partition,partition", r"passes: got partition 2 times, expected it once\. Leave out all but one"),
        ("fuse-padding,remove-dead-code", r"passes: fuse-padding requires remove-dead-code, which does not run .*"),
    ],
)
def test_what_is_refused(text, words):
    register(Optioned)
    with pytest.raises(PassError, match=f"^{words}$"):
        parse(text)


@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_any_text_is_read_or_refused(words):
    try:
        pipeline = parse("".join(words))
    except PassError:
        return
    assert parse(str(pipeline)) == pipeline


def test_every_pass_of_the_package_is_registered_and_says_what_it_does():
    assert {step.name for step in (*neutral("exact", "int8", "nhwc"), *HOST)} == set(registered())
    assert DivideWideNodes in registered().values()
    for name, step in registered().items():
        assert step.name == name == name.lower()
        assert "_" not in name
        assert step.summary
        assert not step.summary.endswith(".")


def test_a_name_is_given_once():
    register(Idle)
    register(Idle)
    with pytest.raises(ValueError, match=r"pass idle: .*Other has the name of Idle"):

        @register
        class Other(Idle):
            """Another pass."""


def test_every_option_has_a_default():
    with pytest.raises(ValueError, match=r"pass bare: has an option without a default\. Give every option one"):

        @register
        @dataclass(frozen=True)
        class Bare(Idle):
            """Has an option without a default."""

            name: ClassVar[str] = "bare"

            count: int
