"""Runs a compiled model in this process, with its normal schedule, and collects the results of every node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import cffi
import numpy as np

from aboard.base import resources
from aboard.compiler.host_runtime import REPORT_IT, HostModel
from aboard.device.tensor_io import Inputs, Values, encode
from aboard.device.trace import TraceCollector
from aboard.errors import AboardError
from aboard.rpc.replies import TraceEvent
from aboard.rpc.status import words

if TYPE_CHECKING:
    from aboard.compiler.pipeline import Module

_FLAGS = ("-DABOARD_HOOKS=1", "-DABOARD_TRACE=1")


class TracedHostModel(HostModel):
    """A model loaded into this process, built with hooks that receive the rows of every node.

    Args:
        module: As for `HostModel`.

    Raises:
        AboardError: As for `HostModel`; or the module was read from a folder, and has no hooks.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module.with_hooks(), _FLAGS)

    def _declared(self, ffi: cffi.FFI) -> cffi.FFI:
        ffi.cdef(f"{_types()}\nextern aboard_model_t {self.manifest.name}_model;")
        return ffi

    def trace(self, feed: Inputs) -> dict[int, dict[str, Values]]:
        """Runs the model once.

        Args:
            feed: The input, or inputs by tensor name.

        Returns:
            Results by index of the node and name of the tensor, as `Session.trace` returns them.

        Raises:
            AboardError: The model returned an error.
            InputError: A wrong name, shape or type.
        """
        collector = TraceCollector(self.manifest.nodes, range(len(self.manifest.nodes)))

        def take(_: Any, trace: Any) -> int:
            for row in _rows(self._ffi, trace):
                collector.take(row)
            return 0

        callback = self._ffi.callback("aboard_status_t(void *, const aboard_trace_t *)", take)
        status = self._run(encode(feed, self.manifest.inputs, self.manifest.name), {"trace": callback})
        if status != 0:
            raise AboardError(
                f"{self.manifest.name}: a traced run failed, got status {status} ({words(status)}), expected 0. "
                f"{REPORT_IT}"
            )
        return collector.results()

    def _run(self, inputs: list[bytes], hooks: dict[str, Any]) -> int:
        """Runs the model with hooks and returns its status."""
        sizes, arenas = self._arenas()
        views = [self._ffi.from_buffer("uint8_t[]", arena) for arena in arenas]
        memory = self._ffi.new("aboard_memory_t[]", list(zip(views, sizes, strict=True)))
        called = self._ffi.new("aboard_hooks_t *", hooks)
        model = getattr(self._library, f"{self.manifest.name}_model")
        if self.manifest.input_mode == "rows":
            return self._stream(model.stream, inputs[0], memory, called)
        for record, data in zip(self.manifest.inputs, inputs, strict=True):
            arenas[record.arena][record.offset : record.offset + record.bytes] = np.frombuffer(data, np.uint8)
        if model.run_in:
            return int(model.run_in(memory, called))
        return int(model.run(views[0], sizes[0], called))

    def _stream(self, stream: Any, data: bytes, memory: Any, hooks: Any) -> int:
        """Passes the input row by row; returns the first status that is not 0, else 0."""
        status, size = int(stream.begin(memory)), int(stream.row_bytes)
        for start in range(0, len(data), size):
            status = status or int(stream.push(memory, data[start : start + size], hooks))
        return status


def _types() -> str:
    """Returns the types of `aboard/status.h` and `aboard/model.h` without preprocessor lines, for cffi."""
    include = resources.firmware() / "include" / "aboard"
    text = "\n".join((include / name).read_text(encoding="utf-8") for name in ("status.h", "model.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    return re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE)


def _rows(ffi: Any, trace: Any) -> Iterator[TraceEvent]:
    """Yields the rows of an `aboard_trace_t`, each without gaps."""
    pixel = trace.channels * trace.element_bytes
    for number in range(trace.rows):
        start = trace.data + number * trace.row_stride
        row = b"".join(bytes(ffi.buffer(start + col * trace.pixel_stride, pixel)) for col in range(trace.cols))
        yield TraceEvent(0, trace.node, trace.output, trace.first + number, 0, len(row), row)
