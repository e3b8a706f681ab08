"""Runs command lines of aboard on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys


def output(*words: str, **environment: str) -> bytes:
    """Returns what a command line writes to a terminal.

    Args:
        words: What follows `aboard`.
        environment: Further environment variables.
    """
    leader, follower = pty.openpty()
    code = f"import sys; from aboard import cli; sys.argv[1:] = {list(words)!r}; cli.main()"
    running = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux says so that the last writer has gone
            piece = b""
        if not piece:
            break
        said += piece
    os.close(leader)
    running.wait()
    return said
