"""Locks of files end with their process; systems without locks say so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aboard.base import file_lock


def opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


def test_a_lock_is_held_by_one_process_until_it_ends(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    code = (
        "import os, sys; from aboard.base import file_lock; fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT); "
        "print(file_lock.take(fd), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        fd = opened(path)
        assert file_lock.take(fd) is False
        holder.kill()
        holder.wait()
        assert file_lock.take(fd) is True
        os.close(fd)


def test_a_system_without_locks_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    fd = opened(tmp_path / ".lock")
    assert file_lock.take(fd) is None
    os.close(fd)
