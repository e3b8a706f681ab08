"""What a folder or file holds, for telling whether it is whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

#: Hash of each file by its path in the folder.
Snapshot = dict[str, str]


def of(path: Path) -> Snapshot:
    """Returns the content of a folder, or of a file by the name of it."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return {
        each.relative_to(path).as_posix() if path.is_dir() else each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in files
    }


def differences(found: Snapshot, whole: Snapshot, what: str) -> list[str]:
    """Returns one line where a folder is not what it should be."""
    missing, more = sorted(whole.keys() - found.keys()), sorted(found.keys() - whole.keys())
    other = sorted(name for name in found.keys() & whole.keys() if found[name] != whole[name])
    parts = (("missing", missing), ("more", more), ("other content", other))
    text = "; ".join(f"{kind} {', '.join(names[:4])}" for kind, names in parts if names)
    return [f"{what}: {text}"] if text else []
