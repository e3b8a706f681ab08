"""A newcomer's own Keras file becomes a running application by five commands (tests/newcomer.sh)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.markdown import CHECKOUT


def test_a_keras_file_becomes_an_application() -> None:
    model, programs = CHECKOUT / "tests/data/newcomer/own.keras", Path(sys.executable).parent
    command = ["bash", str(CHECKOUT / "tests/newcomer.sh"), str(model), str(programs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
