"""The page about a wake word: its C gives the scores of tflite-micro, and so does its project on an emulated board."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from support import markdown, models, sequences, wake_word
from support.sanitized import SANITIZERS, WARNINGS
from support.sequences import FRONT_END, HOP, WAKE_WORD, WINDOW

BLOCKS = markdown.blocks("docs/how-to/wake_word.md")
WINDOWS = 51

#: Reads samples, pushes them twice with a new beginning between, and writes the scores.
MAIN = """
#include <stdio.h>
#include "listen.c"

int main(void) {
    int16_t samples[HOP];
    for (int sequence = 0; sequence < 2; ++sequence) {
        if (listen_begin() != ABOARD_OK || fseek(stdin, 0, SEEK_SET)) { return 1; }
        while (fread(samples, sizeof samples, 1, stdin) == 1) {
            bool scored;
            uint8_t score;
            if (listen_push(samples, &scored, &score) != ABOARD_OK) { return 2; }
            if (scored) { fwrite(&score, 1, 1, stdout); fwrite(features, sizeof features, 1, stdout); }
        }
    }
    return 0;
}
"""

pytestmark = pytest.mark.skipif(
    len(models.available([FRONT_END, WAKE_WORD])) < 2, reason="the models are not here: set ABOARD_MODELS"
)


def text(language: str) -> str:
    return "\n".join(block for found, block in BLOCKS if found == language)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (FRONT_END, WAKE_WORD):
        (tmp_path / f"{name}.tflite").write_bytes(models.read(name))
    return tmp_path


def sound() -> np.ndarray[tuple[int, ...], np.dtype[np.int16]]:
    return sequences.sound(WINDOW + HOP * (WINDOWS - 1))


def test_its_code_gives_features_and_scores_of_tflite_micro(folder: Path) -> None:
    compiles = [line for line in markdown.commands(text("sh")) if line.startswith("aboard compile")]
    (build,) = [line for line in markdown.commands(text("sh")) if line.startswith("cc ")]
    (folder / "listen.c").write_text(text("c"), encoding="utf-8")
    (folder / "main.c").write_text(MAIN, encoding="utf-8")
    sound().tofile(folder / "sound.bin")
    for line in [*compiles, build]:
        markdown.run(line, folder)
    strict = " ".join([*WARNINGS, *SANITIZERS])
    includes = "-Ibuild/audio_features/include -Ibuild/wake_jarvis/include"
    markdown.run(f"gcc {strict} {includes} main.c build/*/src/*.c -lm -o listen", folder)
    markdown.run("./listen < sound.bin > scores.bin", folder)
    wanted = b"".join(
        run.output.tobytes() + run.given.tobytes() for run in wake_word.runs(sound()) if run.model == WAKE_WORD
    )
    assert len(wanted) == (WINDOWS // 3) * 121
    assert (folder / "scores.bin").read_bytes() == 2 * wanted


def test_its_project_gives_every_byte_on_an_emulated_board(folder: Path) -> None:
    np.save(folder / "sound.npy", sound())
    check = "np.savez('got.npz', scores=scores, features=np.stack(every))\n"
    program = text("python").replace("frames, scores = [], []", "frames, scores, every = [], [], []")
    program = program.replace(
        "        if len(frames) == 3:", "        every.append(frames[-1])\n        if len(frames) == 3:"
    )
    (folder / "program.py").write_text(program + check, encoding="utf-8")
    printed = markdown.run(f"{sys.executable} program.py", folder)
    runs = list(wake_word.runs(sound()))
    with np.load(folder / "got.npz") as got:
        assert got["scores"].astype(np.uint8).tobytes() == wake_word.scores(runs)
        assert got["features"].tobytes() == b"".join(run.output.tobytes() for run in runs if run.model == FRONT_END)
    assert printed.startswith(f"{WINDOWS // 3} scores, the largest ")
