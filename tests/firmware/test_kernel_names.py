"""A model's source includes the headers of all its kernels, so no two of them may define a name."""

from __future__ import annotations

import subprocess
from pathlib import Path

from aboard.base import resources

#: Included several times, with the types of an element defined before.
TEMPLATES = {"signal_fft.h"}


def test_all_portable_kernels_compile_in_one_source(tmp_path: Path) -> None:
    kernels = resources.firmware() / "kernels"
    headers = sorted(path.name for path in (kernels / "portable").glob("*.h") if path.name not in TEMPLATES)
    assert {"arithmetic.h", "division.h", "extremes.h", "plain.h"} <= set(headers)
    source = tmp_path / "all.c"
    source.write_text("".join(f'#include "portable/{name}"\n' for name in headers))
    flags = ["-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    include = [f"-I{resources.firmware() / 'include'}", f"-I{kernels}"]
    run = subprocess.run(["gcc", *flags, *include, str(source)], check=False, capture_output=True, text=True)
    assert run.stderr == ""
