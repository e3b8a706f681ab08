"""How far long work has come: a compiler reports it, and a display shows it, if one listens.

The one who works needs no display, and a display knows nothing of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Takes a line such as `schedule: 120 of 500 layers`.
Observer = Callable[[str], None]

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Hands all reports of this thread to a display while the context lasts."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def report(stage: str, done: int | None = None, total: int = 0) -> None:
    """Reports the work that begins now.

    Args:
        stage: Name of the work.
        done: Layers that are done; None if they cannot be counted.
        total: All layers.
    """
    observer = _observer.get()
    if observer is not None:
        observer(stage if done is None else f"{stage}: {done} of {total} layers")
