"""`aboard passes`, and the options that take passes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from aboard import cli
from aboard.cli.schema import RESULTS
from support.wrong_pass import wrong_pass

M4 = "c -mcpu=cortex-m4"
WRONG = "fold-constants,remove-dead-code,wrong-bias,partition,fuse-padding"


@pytest.fixture(autouse=True)
def _wrong() -> Iterator[None]:
    with wrong_pass():
        yield


def call(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    capsys.readouterr()
    assert cli.invoke([*words, "--json"]) == code, capsys.readouterr().err
    result = json.loads(capsys.readouterr().out)
    jsonschema.validate(result, RESULTS[words[0]].model_json_schema(), cls=jsonschema.Draft202012Validator)
    return result


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert cli.invoke(list(words)) == 1
    return capsys.readouterr().err


def test_the_passes_of_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "passes", "--target", M4)
    given = {"remove-channels": "{block=4}"}
    given |= dict.fromkeys(["depthwise-form", "fully-connected-form"], "{core=cortex-m4}")
    assert result["passes"] == ",".join(step["name"] + given.get(step["name"], "") for step in result["steps"])
    by_name = {step["name"]: step for step in result["steps"]}
    assert by_name["fold-constants"]["stage"] == "neutral"
    assert by_name["partition"]["stage"] == "partition"
    assert by_name["remove-channels"] == {
        "name": "remove-channels",
        "stage": "host",
        "summary": "drops int8 channels that are constant, equal to others or read by nobody",
        "requires": ["remove-dead-code"],
        "options": [{"name": "block", "value": 4}],
    }
    others = {step["name"]: step["stage"] for step in result["others"]}
    assert others == dict.fromkeys(["input-layout", "quantise-border", "round-exactly", "wrong-bias"])


def test_a_line_for_each_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.invoke(["passes", "--target", M4, "--passes", "remove-dead-code,remove-channels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == 'passes  "partition,remove-dead-code,remove-channels"'
    assert [line.split()[:3] for line in lines[5:8]] == [
        ["1", "partition", "partition"],
        ["2", "remove-dead-code", "host"],
        ["3", "remove-channels{block=1}", "host"],
    ]
    assert any(line.startswith("  fold-constants ") for line in lines[8:])


def test_the_ir_is_printed_where_it_is_asked_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ("compile", "digits", "--target", M4, "-o", str(tmp_path / "b"), "--force")
    result = call(capsys, *words, "--print-ir-before", "fuse-padding", "--print-ir-after", "import")
    assert [(dump["position"], dump["step"]) for dump in result["ir"]] == [
        ("after", "import"),
        ("before", "fuse-padding"),
    ]
    assert call(capsys, *words)["ir"] is None
    assert cli.invoke([*words, "--print-ir-after=remove-dead-code"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("IR after remove-dead-code\n\ngraph digits from digits.tflite {\n") == 3
    assert "graph digits" not in captured.out


def test_the_ir_before_a_pass_that_fails_is_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from support.wrong_pass import WrongBias

    def broken(self: WrongBias, graph: Any) -> None:
        graph.nodes.reverse()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WrongBias, "run", broken)
        words = ("compile", "digits", "--target", M4, "-o", str(tmp_path / "b"), "--passes", "wrong-bias")
        message = refused(capsys, *words, "--print-ir-before", "wrong-bias")
    assert message.startswith("IR before wrong-bias\n\ngraph digits from digits.tflite {\n")
    assert "error: pass wrong-bias: " in message


def test_a_step_that_does_not_run_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("compile", "digits", "--target", M4)
    assert "--print-ir-after: fuse-paddin does not run. Did you mean fuse-padding" in refused(
        capsys, *words, "--print-ir-after", "fuse-paddin"
    )
    assert "--print-ir-before: fold-constants does not run. " in refused(
        capsys, *words, "--passes", "remove-dead-code", "--print-ir-before", "fold-constants"
    )


def test_verify_names_the_pass_at_fault(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("verify", "digits", "--board", "host/native", "--samples", "2", "--passes", WRONG)
    result = call(capsys, *words, "--bisect", code=1)
    found = result["bisect"]
    assert (found["first_wrong"], found["passes"]) == ("wrong-bias", WRONG)
    assert found["sample"] == result["first_difference"]["sample"]
    assert found["tensor"] == result["first_difference"]["tensor"]
    assert [step["step"] for step in found["steps"]] == ["import", "fold-constants", "remove-dead-code", "wrong-bias"]


def test_verify_prints_the_command_that_bisects(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["verify", "digits", "--board", "host/native", "--samples", "2", "--passes", WRONG, "-O", "trace=off"]
    assert cli.invoke(words) == 1
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(
        "To see whether a pass of the compiler is at fault: aboard verify digits --board host/native"
    )
    assert cli.invoke(shlex.split(line.partition("fault: aboard ")[2])) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("The pass at fault is wrong-bias, first in sequential")
    assert lines[-1].endswith("with --print-ir-before wrong-bias --print-ir-after wrong-bias.")


def test_equal_results_need_no_search(capsys: pytest.CaptureFixture[str]) -> None:
    result = call(capsys, "verify", "digits", "--board", "host/native", "--samples", "1", "--bisect")
    assert (result["equal"], result["bisect"]) == (True, None)
