"""Chromium without a window, driven over a pipe by its DevTools protocol: what is wrong with a page as it is seen."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_TIMEOUT_S = 60.0
# Files of a test are its own, and containers let nobody make the sandbox's namespaces.
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

#: Returns what is wrong with a page.
_FAULTS = Path(__file__).with_name("page_faults.js")


def find() -> Path:
    """Returns the browser: what ABOARD_CHROMIUM names, or one on PATH.

    Raises:
        RuntimeError: There is none.
    """
    named = os.environ.get("ABOARD_CHROMIUM")
    found = next((path for name in ([named] if named else _NAMES) if (path := shutil.which(name))), None)
    if found is None:
        raise RuntimeError(f"{named or _NAMES[0]}: not found, expected a browser. apt-get install chromium")
    return Path(found)


@dataclass
class Seen:
    """A page as it was seen.

    Attributes:
        faults: What is wrong with it; `page_faults.js` says what is looked for.
        errors: What the console says, exceptions, and what was refused.
        requests: Addresses that were asked for beside the page's own.
    """

    faults: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def all(self) -> list[str]:
        """Everything that is wrong."""
        return [*self.faults, *self.errors, *(f"asks for {request}" for request in self.requests)]


class Browser:
    """A browser that runs; `open` gives one."""

    def __init__(self, process: subprocess.Popen[bytes], to_it: int, from_it: int) -> None:
        self._process = process
        self._to, self._from = to_it, from_it
        self._left = b""
        self._number = 0
        self._events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session: str | None = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def see(self, page: Path, width: int, height: int = 900, *, dark: bool = False) -> Seen:
        """Shows a page and returns what is wrong with it.

        Args:
            page: The file.
            width: Of the window, in pixels; below 600 it is that of a phone.
            height: Likewise.
            dark: True where the user likes it dark.
        """
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._call("Emulation.setDeviceMetricsOverride", screen)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", {"features": scheme})
        self._events.clear()
        address = page.resolve().as_uri()
        self._call("Page.navigate", {"url": address})
        self._until("Page.loadEventFired")
        found = self.evaluate(_FAULTS.read_text(encoding="utf-8"))
        seen = Seen(list(found))
        for event in self._events:
            self._note(event, address, seen)
        return seen

    def evaluate(self, expression: str) -> Any:
        """Returns the value of an expression in the page."""
        return self._call("Runtime.evaluate", {"expression": expression, "returnByValue": True})["result"].get("value")

    def picture(self, path: Path) -> None:
        """Writes the whole page as PNG."""
        taken = self._call("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(taken["data"]))

    @staticmethod
    def _note(event: dict[str, Any], address: str, seen: Seen) -> None:
        method, given = event["method"], event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            seen.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled":
            seen.errors.append(" ".join(str(argument.get("value")) for argument in given["args"]))
        elif method == "Log.entryAdded":
            seen.errors.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = given["request"]["url"]
            if url != address and not url.startswith("data:"):
                seen.requests.append(url)

    def _call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params or {}}
        session = getattr(self, "_session", None)
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            if "method" in answer:
                self._events.append(answer)

    def _until(self, method: str) -> None:
        while all(event["method"] != method for event in self._events):
            answer = self._next()
            if "method" in answer:
                self._events.append(answer)

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _TIMEOUT_S
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(deadline - time.monotonic(), 0))
            read = os.read(self._from, 1 << 16) if ready else b""
            if not read:
                raise RuntimeError("chromium: ended, or does not answer, expected an answer within 60 s")
            self._left += read
        first, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        return message


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Gives a browser with a profile of its own, which ends with the block."""
    with tempfile.TemporaryDirectory(prefix="aboard-chromium-", ignore_cleanup_errors=True) as profile:
        its_input, to_it = os.pipe()
        from_it, its_output = os.pipe()
        command = [str(find()), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        # It reads from 3 and writes to 4; a shell moves the ends of the pipes there.
        move = ["bash", "-c", f'exec "$@" 3<&{its_input} 4>&{its_output}', "bash", *command]
        process = subprocess.Popen(
            move, pass_fds=(its_input, its_output), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(its_input)
        os.close(its_output)
        try:
            yield Browser(process, to_it, from_it)
        finally:
            # It ends when its pipe does.
            os.close(to_it)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(from_it)
