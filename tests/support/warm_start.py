"""Commands that begin with all modules of aboard imported: a process has them, and makes a copy of itself for each.

The import takes half of the time of a short command, and pages of the documentation have hundreds of these. The process
has built the plugin of QEMU that counts instructions, too. A copy is a process like any other, with the streams, the
folder, the variables and the exit code of its caller, and finds packages in further folders that PYTHONPATH names.
Where other variables decide what Python is, a command begins as usual, and in `make test-full` all of them do.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any, NoReturn

#: Packages whose modules are there when a command begins; what talks to frameworks and to farms is not needed by most.
_PACKAGES, _LATER = ("aboard", "aboard_ethos_u"), ("aboard.farm", "aboard.frameworks")
#: What decides how Python is, beside PYTHONPATH.
_SETTINGS = ("PYTHONHOME", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONHASHSEED", "PYTHONIOENCODING", "PYTHONUTF8")

# As it was before a test changed it.
_ENVIRONMENT = dict(os.environ)

# Its first lines are shell, for a Python whose path is too long for a first line or has blanks.
_PROGRAM = """#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
import array, json, os, socket, sys
environment = dict(os.environ)
environment["PATH"] = os.pathsep.join(p for p in environment.get("PATH", "").split(os.pathsep) if p != {folder!r})
path = [p for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p]
more = path[:len(path) - len({path!r})]
usual = path[len(more):] != {path!r} or any(os.path.isdir(os.path.join(p, "aboard")) for p in more)
if usual or any(environment.get(name) != value for name, value in {settings!r}.items()):
    os.execve({real!r}, [{real!r}, *sys.argv[1:]], environment)
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
request = json.dumps([[{real!r}, *sys.argv[1:]], os.getcwd(), environment, more]).encode()
line.sendmsg([b"%10d" % len(request)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
line.sendall(request)
answer = line.recv(16)
if not answer:
    sys.exit("aboard: the process ended without an exit code")
sys.exit(int(answer))
"""


@functools.cache
def folder() -> Path | None:
    """Returns a folder with a program `aboard` that begins at once, for PATH; None where commands begin as usual."""
    real = Path(sysconfig.get_path("scripts")) / "aboard"
    if os.environ.get("ABOARD_FULL") or not hasattr(os, "fork") or not real.is_file():
        return None
    made = Path(tempfile.mkdtemp(prefix="aboard-warm-"))
    address, (until, end) = str(made / "socket"), os.pipe()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        handed = (until, listening.fileno())
        words = [sys.executable, __file__, *map(str, handed)]
        process = subprocess.Popen(words, pass_fds=handed, stdin=subprocess.DEVNULL, env=_ENVIRONMENT, cwd="/")
    os.close(until)
    atexit.register(_end, process, end, made)
    text = _PROGRAM.format(
        python=sys.executable,
        folder=str(made),
        path=[each for each in _ENVIRONMENT.get("PYTHONPATH", "").split(os.pathsep) if each],
        settings={name: _ENVIRONMENT.get(name) for name in _SETTINGS},
        real=str(real),
        address=address,
    )
    (made / "aboard").write_text(text, encoding="utf-8")
    (made / "aboard").chmod(0o755)
    return made


def program() -> list[str]:
    """Returns the words before those of a command."""
    found = folder()
    return [sys.executable, "-c", "from aboard.cli import main; main()"] if found is None else [str(found / "aboard")]


def _end(process: subprocess.Popen[bytes], end: int, made: Path) -> None:
    os.close(end)
    process.terminate()
    process.wait()
    for path in made.iterdir():
        path.unlink()
    made.rmdir()


def _import_all() -> None:
    for name in _PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}.", onerror=lambda _: None):
            if not module.name.startswith(_LATER) and not module.name.endswith(("__main__", ".demo")):
                # A package of an extra that is not installed.
                with contextlib.suppress(ImportError):
                    importlib.import_module(module.name)


def _build_plugins() -> None:
    """Builds what counts instructions in QEMU, which each process does once."""
    from aboard.base import programs
    from aboard.cycles import plugin
    from aboard.errors import ToolError

    for name in ("qemu-system-arm", "qemu-system-riscv32"):
        with contextlib.suppress(ToolError, OSError), tempfile.TemporaryDirectory() as made:
            plugin.build(Path(made), programs.require(name, ""))


def _serve(until: int, listening: socket.socket) -> None:
    """Answers until the other end of a pipe is closed."""
    _import_all()
    _build_plugins()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with selectors.DefaultSelector() as selector:
        selector.register(until, selectors.EVENT_READ)
        selector.register(listening, selectors.EVENT_READ)
        while all(key.fd != until for key, _ in selector.select()):
            line, _ = listening.accept()
            with line:
                if os.fork() == 0:
                    _answer(line)


def _received(line: socket.socket) -> tuple[Any, array.array[int]]:
    """Returns a request, and the descriptors of its streams."""
    streams = array.array("i")
    head, ancillary, _, _ = line.recvmsg(10, socket.CMSG_SPACE(3 * streams.itemsize))
    streams.frombytes(ancillary[0][2])
    size, data = int(head), b""
    while len(data) < size:
        data += line.recv(size - len(data))
    return json.loads(data), streams


def _answer(line: socket.socket) -> NoReturn:
    """Runs a command in this process, the copy, and ends it."""
    code = 1
    try:
        (sys.argv, where, environment, more), streams = _received(line)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(where)
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:0] = more
        importlib.invalidate_caches()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = _ran()
        threading._shutdown()  # type: ignore[attr-defined]  # as the end of every process
        atexit._run_exitfuncs()
        sys.stdout.flush()
    finally:
        with contextlib.suppress(OSError):
            line.sendall(str(code).encode())
        os._exit(code)


def _ran() -> int:
    from aboard.__main__ import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    # The modules beside this one have names of others.
    del sys.path[0]
    _serve(int(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
