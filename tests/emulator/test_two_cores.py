"""The first core of a board with two, in QEMU."""

from __future__ import annotations

import json

import pytest

from aboard import cli


def test_the_first_core_of_an521_computes_what_the_reference_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["verify", "digits", "--board", "arm/mps2_an521", "--samples", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["board"], result["runner"]) == ("arm/mps2_an521", "qemu")
    assert (result["equal"], result["differing_bytes"], result["samples"]) == (True, 0, 4)
