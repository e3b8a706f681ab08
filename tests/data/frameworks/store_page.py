"""Runs the Python of the page "Your own model", and stores what tests take from it: page/*.

make test-frameworks                         # makes .venv-frameworks
PYTHONPATH=tests .venv-frameworks/bin/python tests/data/frameworks/store_page.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from aboard import frameworks
from support import own_model


def main() -> None:
    """Writes the files of `own_model.CONVERTED` and `own_model.KEPT`, and prints sizes."""
    own_model.STORED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for heading, blocks in own_model.sections().items():
            print(heading, own_model.run_code(blocks, folder), sep="\n")
        converted = {stored: source for source, stored in reversed(own_model.CONVERTED.items())}
        for stored, source in converted.items():
            (own_model.STORED / stored).write_bytes(frameworks.read_bytes(folder / source))
        for kept in own_model.KEPT:
            shutil.copy(folder / kept, own_model.STORED)
    for path in sorted(own_model.STORED.iterdir()):
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
