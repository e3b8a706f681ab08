"""What the process of a converter runs: `python -m aboard.frameworks.worker CONVERTER SOURCE FOLDER`.

It writes `result`, the TFLite or ONNX file, into the folder; or `problem.json`, with a reason and an advice.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import resource
import sys
from pathlib import Path

#: Memory for data that the process may take, in bytes: small files may say that they unpack to anything.
_MOST_MEMORY = 12 << 30


def main(converter: str, source: Path, folder: Path) -> None:
    """Converts a file.

    Args:
        converter: Module of this package that has `convert` and `advice`.
        source: The file or folder.
        folder: An empty folder, for the result and for temporary files.
    """
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    module = importlib.import_module(f"aboard.frameworks.{converter}")
    try:
        made = module.convert(source, folder)
    except Exception as error:  # converters raise anything
        reason, advice = module.explain(error)
        facts = {"reason": " ".join(reason.split())[:400], "advice": advice}
        (folder / "problem.json").write_text(json.dumps(facts), encoding="utf-8")
        return
    (folder / "result").write_bytes(made)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
