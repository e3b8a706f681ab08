"""`aboard new`: folders with applications that build, run and decide, as their README says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aboard import boards, cli
from aboard.compiler.pipeline import compile_model
from aboard.errors import ProjectError
from aboard.frontend import AudioFrontEnd, IntegerScale
from aboard.project import application
from support import markdown

KEYWORDS = markdown.CHECKOUT / "docs/examples/keyword_spotting/keywords.tflite"
KERAS = markdown.CHECKOUT / "tests/data/frameworks/keras_cnn.tflite"


def readme(folder: Path) -> list[str]:
    """Returns the commands of the first block of the README."""
    block = (folder / "README.md").read_text(encoding="utf-8").split("\n\n")[2]
    return [line.strip() for line in block.splitlines()]


def made(tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Path:
    assert cli.invoke(["new", str(tmp_path / "mine"), *words]) == 0, capsys.readouterr().err
    return tmp_path / "mine"


def test_the_application_decides_in_an_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, capsys, "--board", "arm/mps2_an386")
    assert readme(folder) == ["aboard build firmware", "aboard run firmware"]
    printed = "".join(markdown.run(f"{line} 2>&1", folder) for line in readme(folder))
    # The first picture of the test data.
    assert "aboard: digits: class 8\n" in printed
    # What the user changed stays when the firmware is made again, and is built.
    source = folder / "application" / "application.c"
    source.write_text(source.read_text(encoding="utf-8").replace('"class "', '"this is a "'), encoding="utf-8")
    for line in ("aboard create digits.tflite -o firmware", *readme(folder)):
        printed = markdown.run(f"{line} 2>&1", folder)
    assert "aboard: digits: this is a 8\n" in printed


def tone(count: int, rate: int = 16000) -> np.ndarray:
    """Returns the samples of the stand-in for a microphone, which reads blocks of 320."""
    samples, phase = [], 0
    for block in range(count // 320):
        for _ in range(320):
            samples.append(phase % rate * 8000 // rate - 4000)
            phase += rate // 40 + block
    return np.array(samples, np.int16)


def test_a_front_end_for_sound_is_between_sensor_and_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path, capsys, "--model", str(KEYWORDS), "--front-end", "sound", "--board", "nordic/nrf52840dk")
    printed = "".join(markdown.run(f"{line} 2>&1", folder) for line in readme(folder))
    host = compile_model(KEYWORDS, target="c -runtime=host")
    tensor = host.manifest.inputs[0]
    assert tensor.scale is not None
    scale = IntegerScale(1 / 64, tensor.scale, zero_after=tensor.zero_point or 0)
    front_end = AudioFrontEnd(sample_rate=16000, window=480, hop=320, channels=20, scale=scale)
    frames = front_end(tone(320 * 40)[None])[0, :39]
    expected = int(np.argmax(host.run(frames.reshape(tensor.shape))))
    assert f"aboard: keywords: class {expected}\n" in printed


def test_a_board_that_only_zephyr_has_is_refused() -> None:
    board = boards.load("arm/mps2_an386").model_copy(update={"id": "zephyr:some_board"})
    model = compile_model(KERAS, target="c -mcpu=cortex-m4").manifest
    with pytest.raises(
        ProjectError, match=r"new: zephyr:some_board has no bare-metal projects, got the template zephyr"
    ):
        application.check(board, model)


def test_a_folder_of_the_user_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert cli.invoke(["new", str(tmp_path), "--board", "arm/mps2_an386"]) == 1
    assert "is there and not empty, expected a new folder. Choose another name" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_of_a_framework_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"")
    words = ["new", str(tmp_path / "mine"), "--board", "arm/mps2_an386", "--model", str(tmp_path / "saved")]
    assert cli.invoke(words) == 1
    assert "saved: is a folder, expected a model file. Save the model as a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--board", "zephyr:frdm_k64f"], "nxp/frdm_k64f: has no port yet"),
        (["-t", "arm/mps2_an386 -input=rows"], "new: digits has streamed input, which the application does not handle"),
        (["-t", "c -mcpu=cortex-m4"], "--target: names no board"),
        (["--board", "arm/mps2_an386", "--model", str(KERAS), "--front-end", "sound"], "needs one input of int8 with "),
    ],
)
def test_what_cannot_be_an_application_is_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.invoke(["new", str(tmp_path / "mine"), *words]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()
