"""Builds of code for `-mcpu=generic` with compilers for cores that aboard has no name for, and their runs."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aboard.base import programs
from aboard.compiler.pipeline import Module
from support.markdown import CHECKOUT

FIRMWARE = CHECKOUT / "firmware"
C99 = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror")
#: Products and sums of floats are not fused.
EXACT = ("-ffp-contract=off",)


@dataclass(frozen=True)
class Core:
    """A core with its compiler and the program that executes its images.

    Attributes:
        compiler: Command of the compiler.
        flags: Flags for the core.
        runs: Command before the image.
        package: Debian packages with the programs.
        extra: Further sources, and the macros that they need.
    """

    compiler: str
    flags: tuple[str, ...]
    runs: tuple[str, ...]
    package: str
    extra: tuple[str, ...] = ()

    def compile(self, *arguments: str | Path) -> str:
        """Compiles, and returns what the compiler prints; it must not fail."""
        command = [
            str(programs.require(self.compiler, f"apt install {self.package}")),
            *self.flags,
            *map(str, arguments),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stderr

    def run(self, image: Path) -> str:
        """Executes an image, and returns what it prints."""
        program = programs.require(self.runs[0], f"apt install {self.package}")
        done = subprocess.run(
            [str(program), *self.runs[1:], str(image)], capture_output=True, text=True, timeout=300, check=False
        )
        return done.stdout + done.stderr


#: 32 bits, the highest byte first, char without sign.
BIG_ENDIAN = Core(
    "powerpc-linux-gnu-gcc",
    ("-static",),
    ("qemu-ppc",),
    "gcc-powerpc-linux-gnu libc6-dev-powerpc-cross qemu-user",
)
#: An int of 16 bits, addresses of 16 bits, no alignment, double of 32 bits.
AVR = Core(
    "avr-gcc",
    ("-mmcu=atmega1284p",),
    ("simavr", "-m", "atmega1284p", "-f", "16000000"),
    "gcc-avr avr-libc simavr",
    ("-DABOARD_SAMPLE_NO_MAIN", str(CHECKOUT / "tests/support/avr/main.c")),
)


def run_samples(module: Module, core: Core, folder: Path, flags: Sequence[str] = ()) -> str:
    """Returns what the test program of a model prints on a core: it compares with the results of the compiler."""
    bundle = module.save(folder / f"{module.name}_bundle")
    sources = [bundle / path for path in (*module.manifest.sources, f"test/{module.name}_test.c")]
    image = folder / f"{module.name}.elf"
    core.compile(
        "-std=c99", "-O1", *EXACT, *flags, f"-DMODEL_TEST={module.name}_test", f"-I{bundle}/include",
        f"-I{bundle}/test", *sources, *core.extra, "-lm", "-o", image,
    )  # fmt: skip
    return core.run(image)


def every_kernel(folder: Path) -> Path:
    """Writes a C file that includes every portable kernel, and returns its path."""
    headers = sorted((FIRMWARE / "kernels" / "portable").glob("*.h"))
    # signal_fft.h is a template that others include with their types.
    lines = [f'#include "kernels/portable/{path.name}"\n' for path in headers if path.name != "signal_fft.h"]
    source = folder / "every_kernel.c"
    source.write_text("".join(lines), encoding="utf-8")
    return source
