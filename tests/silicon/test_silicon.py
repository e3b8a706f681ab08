"""`aboard bench` on an emulated and on a pretended board, and the table of real boards: what it takes and refuses."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import aboard
from aboard import cli, outputs
from aboard.base import resources
from aboard.boards.board import Board
from aboard.cli import choice
from aboard.cli.schema_bench import BenchResult
from aboard.device import input_files
from silicon import table
from support import markdown
from support.pretended_runner import PretendedRunner

MODEL = resources.models() / "digits.tflite"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """The file of a pretended board, and what is printed. The runner is chosen here: no flasher knows the board."""
    folder = tmp_path_factory.mktemp("bench")

    def runner(board: Board, *_: Any, **__: Any) -> PretendedRunner:
        return PretendedRunner(board, port=str(folder / "port"))

    words = ["bench", str(MODEL), "--board", "host/native", "--repeats", "5", "-o", str(folder / "b.json")]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        patch.setattr(choice, "runner", runner)
        assert cli.invoke(words) == 0
    return (folder / "b.json").read_bytes(), out.getvalue()


@pytest.fixture
def benched(written: tuple[bytes, str], tmp_path: Path) -> Path:
    (tmp_path / "b.json").write_bytes(written[0])
    return tmp_path / "b.json"


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Changes a file and seals it again."""
    fields = json.loads(path.read_bytes())
    change(fields)
    fields["seal"] = outputs.SEAL
    path.write_bytes(outputs.sealed(json.dumps(fields).encode()))
    return path


def test_a_pretended_board_is_measured_in_ticks(benched: Path, written: tuple[bytes, str]) -> None:
    out = written[1]
    found = json.loads(benched.read_bytes())
    assert (found["board"], found["runner"], found["unit"], found["repeats"]) == ("host/native", "serial", "ticks", 5)
    assert "ticks, medians of 5 runs ± spread" in out
    (model,) = found["models"]
    assert model["run"]["count"] > 0
    assert len(model["layers"]) == 6
    module = aboard.compile(MODEL, target="c -runtime=host")
    values = module.run(input_files.load("random:0", module.manifest.inputs))
    assert not isinstance(values, dict)
    assert list(model["outputs"].values()) == [hashlib.sha256(values.tobytes()).hexdigest()]
    # A pseudo-terminal is no board, whatever is behind it.
    assert table.read(benched) == ("was not measured on a board, got ticks of runner serial, expected ticks of a board")


def test_the_table_shows_what_a_board_measured(benched: Path, tmp_path: Path) -> None:
    def real(fields: dict[str, Any]) -> None:
        fields.update(is_real=True, tick_hz=1_000_000)
        fields["models"][0]["run"] = {"count": 1234, "spread": 5}

    found = table.read(changed(benched, real))
    assert isinstance(found, BenchResult)
    (row,) = [line for line in table.table([found]).splitlines() if "host/native" in line]
    assert row.startswith("| `host/native` | `digits` | ")
    assert "| 1,234 | 0.41 |" in row
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}\nold\n{table.END}\nbehind\n", encoding="utf-8")
    table.write(page, [found])
    assert page.read_text(encoding="utf-8").splitlines()[0] == "before"
    assert row in page.read_text(encoding="utf-8")
    assert "old" not in page.read_text(encoding="utf-8")


def _wrong_output(fields: dict[str, Any]) -> None:
    outputs = fields["models"][0]["outputs"]
    outputs.update(dict.fromkeys(outputs, "0" * 64))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_wrong_output, "has wrong results, got other bytes of output"),
        (
            lambda fields: fields.update(repeats=2),
            "has too few runs, got 2, expected 5 or more. Measure with --repeats 20",
        ),
        (lambda fields: fields.update(board="st/none"), "is of a board that is not known, got: "),
        (
            lambda fields: fields.update(clock_hz=16_000_000),
            "is of another clock than the board's file, got 16000000 Hz and None wait states, expected None Hz",
        ),
        (
            lambda fields: fields["models"][0].update(model_sha256="1" * 64),
            "has a model whose file is not at hand, got digits (11111111), expected a shipped",
        ),
        (
            lambda fields: fields.pop("tick_hz"),
            "is not what `aboard bench -o` of this version writes, got: 1",
        ),
        (lambda fields: fields.update(unit="instructions"), "was not measured on a board, got instructions of runner"),
    ],
)
def test_what_the_table_refuses(benched: Path, change: Callable[[dict[str, Any]], object], text: str) -> None:
    def both(fields: dict[str, Any]) -> None:
        fields.update(is_real=True)
        change(fields)

    assert str(table.read(changed(benched, both))).startswith(text)


def test_a_file_that_was_changed_by_hand_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fields = {"format": 1, "seal": f"aboard-sha256={'1' * 64}"}
    (tmp_path / "b.json").write_text(json.dumps(fields))
    page = table.PAGE.read_bytes()
    assert table.main([str(tmp_path)]) == 1
    assert f"{tmp_path / 'b.json'}: was changed after `aboard bench` wrote it" in capsys.readouterr().err
    assert table.PAGE.read_bytes() == page


def test_the_page_has_the_table_of_its_folder() -> None:
    found = [table.read(path) for path in sorted(table.FOLDER.glob("*.json"))]
    assert [why for why in found if isinstance(why, str)] == []
    text = (markdown.CHECKOUT / "docs" / "reference" / "silicon.md").read_text(encoding="utf-8")
    assert table.table([each for each in found if isinstance(each, BenchResult)]) in text


def test_an_emulator_counts_instructions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "digits", "--board", "arm/mps2_an386", "-o", str(tmp_path / "b.json")]
    assert cli.invoke([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "b.json").read_bytes())
    assert {**told, "seal": written["seal"]} == written
    assert (told["unit"], told["tick_hz"], told["repeats"], told["is_real"]) == ("instructions", None, 1, False)
    (model,) = told["models"]
    total = sum(layer["cost"]["count"] for layer in model["layers"])
    assert abs(total - model["run"]["count"]) < 0.05 * total
    # The file is one of aboard's, so that a new measurement may replace it; another file is not.
    (tmp_path / "mine.json").write_text("mine")
    assert cli.invoke(["bench", "digits", "--board", "arm/mps2_an386", "-o", str(tmp_path / "mine.json")]) == 1
    assert "mine.json: holds 4 bytes that aboard did not write" in capsys.readouterr().err
