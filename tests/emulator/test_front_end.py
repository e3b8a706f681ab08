"""The front end on an emulated Cortex-M4 gives the bits of numpy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from aboard import frontend
from aboard.frontend import AudioFrontEnd, GainControl, NoiseReduction
from support import front_end as c_code
from support import markdown

BOARD = markdown.CHECKOUT / "docs" / "examples" / "board"
FLAGS = ["-std=c99", "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16", "-O2", "-Wall", "-Werror"]

#: Prints the number of each frame and a hash of its features.
MAIN = """
#include "board.h"
#include "frontend.h"

int main(void) {
    static frontend_t stream;
    static frontend_scratch_t scratch;
    static int16_t samples[1000], features[FRONTEND_FEATURES];
    int32_t count, number = 0;
    frontend_reset(&stream);
    while ((count = board_microphone(samples, 1000)) > 0) {
        for (int32_t done = 0; done < count;) {
            done += frontend_push(&stream, samples + done, count - done);
            const uint32_t start = board_ticks();
            if (frontend_read(&stream, &scratch, features)) {
                uint32_t hash = 0;
                board_measured(BOARD_FRONT_END, board_ticks() - start);
                for (int32_t i = 0; i < FRONTEND_FEATURES; ++i) {
                    hash = hash * 16777619u ^ (uint32_t)(uint16_t)features[i];
                }
                board_decided(number++, hash);
            }
        }
    }
    return 0;
}
"""


def hashed(features: np.ndarray) -> list[int]:
    values = []
    for row in features.astype(np.uint16).tolist():
        value = 0
        for each in row:
            value = (value * 16777619 ^ each) & 0xFFFFFFFF
        values.append(value)
    return values


def test_features_on_a_cortex_m4_equal_those_in_numpy(tmp_path: Path) -> None:
    front_end = AudioFrontEnd(
        hop=160, noise_reduction=NoiseReduction(), gain_control=GainControl(), channels=32, coefficients=13
    )
    samples = c_code.sound(160 * 400 + 320, seed=9)
    samples.astype("<i2").tofile(tmp_path / "samples.raw")
    place = frontend.write(front_end, tmp_path / "front_end")
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    sources = [tmp_path / "main.c", BOARD / "mps2_an386.c", place / "src" / "frontend.c"]
    includes = [f"-I{BOARD}", f"-I{place / 'include'}"]
    link = ["-nostartfiles", "-T", str(BOARD / "mps2_an386.ld"), "-o", str(tmp_path / "app.elf")]
    subprocess.run(["arm-none-eabi-gcc", *FLAGS, *includes, *map(str, sources), *link], check=True)
    emulator = ["qemu-system-arm", "-machine", "mps2-an386", "-icount", "shift=0", "-display", "none"]
    emulator += ["-semihosting-config", "enable=on,target=native", "-kernel", "app.elf"]
    done = subprocess.run(emulator, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    lines = [line.split() for line in (done.stdout + done.stderr).splitlines() if ":" not in line]
    assert [(int(number), int(value)) for number, value in lines] == list(enumerate(hashed(front_end(samples))))
    assert len(lines) == 400
