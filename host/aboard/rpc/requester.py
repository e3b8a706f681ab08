"""The requester: sends one request at a time and repeats it until it is answered, within a session.

The device runs each request once. A repeated request keeps its number; the device answers a number that it has seen
with the stored reply, so repeating a request is always safe. Every request goes through `Requester.call`.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aboard.base.fault_record import FaultRecord
from aboard.errors import DeviceError, DeviceFault, DeviceStatusError, ProtocolError
from aboard.rpc import messages, replies
from aboard.rpc.exchange import Exchange, OnTrace
from aboard.rpc.flow import SendWindow
from aboard.rpc.line import Line
from aboard.rpc.messages import BUILD_AGAIN, Header, Request, Type
from aboard.rpc.pace import Errand, Pace
from aboard.rpc.status import Status, advice, words
from aboard.rpc.timing import Timing
from aboard.transports.base import Transport

if TYPE_CHECKING:
    from aboard.base.fault_record import FaultReport

#: What to do after a crash: of the device, and of a core that does not restart by itself.
_RESTARTED = "Repeat the call; see docs/how-to/troubleshooting.md if the device crashes again"
_STOPPED = "Reset the device to start the core again"


@dataclass(frozen=True)
class _Hello:
    """The state of a session: its nonce, the device's reply to HELLO, and the window for sending."""

    nonce: int
    reply: replies.Hello
    window: SendWindow


class Requester:
    """Sends requests to one device over a transport. The caller closes the transport.

    Attributes:
        check: Called with the reply to HELLO whenever a session starts. It may send requests, and raises to refuse the
            device.
        explain: Decodes a fault record for error messages.
    """

    explain: Callable[[FaultRecord], FaultReport] | None = None

    def __init__(
        self,
        transport: Transport,
        *,
        timing: Timing | None = None,
        on_log: Callable[[str], None] | None = None,
        check: Callable[[replies.Hello], None] | None = None,
    ) -> None:
        self.check = check
        self._line = Line(transport, on_log)
        self._timing = timing or Timing()
        self._pace = Pace(self._line, self._timing)
        self._recovers = False
        self._session: _Hello | None = None
        self._id = 0

    @property
    def name(self) -> str:
        """Name of the line in messages."""
        return self._line.name

    @property
    def lost_events(self) -> int:
        """Events (logs, traces, progress) that the device sent and that did not arrive."""
        return self._line.lost_events

    @property
    def hello(self) -> replies.Hello:
        """The device's reply to HELLO; starts a session if there is none."""
        return (self._session or self._greet()).reply

    def connect(self) -> replies.Hello:
        """Starts a new session. Requests of earlier sessions have no effect from then on.

        Raises:
            DeviceTimeout: The device does not answer.
            ProtocolError: The device speaks another version, or another protocol.
        """
        return self._greet().reply

    def call(self, request: Request, *, patience_s: float | None = None, on_trace: OnTrace | None = None) -> bytes:
        """Sends a request and waits for its reply.

        Args:
            request: The request.
            patience_s: Longest time between two signs of progress once the device has accepted the request.
            on_trace: Receives TRACE events of this request; returns False for an event with nothing new.

        Returns:
            The payload of the reply.

        Raises:
            DeviceStatusError: The device refused.
            DeviceTimeout: The device does not answer.
            ProtocolError: The replies are damaged, or not of this protocol.
            DeviceFault: The device crashed and restarted.
            DeviceError: The device restarted for another reason. The next call starts a new session.
            TransportError: The line is gone.
        """
        return self._call(request, patience_s, on_trace, None)

    def _call(
        self, request: Request, patience_s: float | None, on_trace: OnTrace | None, within_s: float | None
    ) -> bytes:
        """As `call`, but raises `OutOfTime` if the reply does not come in time."""
        session = self._session or self._greet()
        restarts = self._line.restarts
        status, payload = self._exchange(session, request, on_trace).run(patience_s, within_s)
        if status == Status.SESSION:
            raise self._restarted(request, said_so=self._line.restarts != restarts)
        if status == Status.DEVICE and request.type != Type.FAULT:
            self._raise_core_fault(request)
        if status != Status.OK:
            raise DeviceStatusError(
                f"{self._line.name}: the device refuses {request.type.name}, got status {status} ({words(status)}), "
                f"expected 0. {advice(status)}",
                status,
            )
        return payload

    def _exchange(self, session: _Hello, request: Request, on_trace: OnTrace | None = None) -> Exchange:
        """Sends a request under the next number."""
        self._id = (self._id + 1) & 0xFFFF
        header = Header(request.type, 0, self._id, session.nonce)
        payload, errand = request.pack(), Errand.of(request)
        return Exchange(self._line, self._timing, header, payload, session.window, self._pace, errand, on_trace)

    def forget(self) -> None:
        """Ends the session on the host's side only. The next call starts a new one."""
        self._session = None

    def listen(self, seconds: float) -> None:
        """Receives logs for some time without sending a request."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for header, payload in self._line.receive(left):
                self._line.note_event(header, payload)

    def fault(self) -> FaultRecord:
        """Returns the record of the last fault; its kind is 0 when there was none."""
        return replies.FaultReply.unpack(self.call(messages.FaultRequest()))

    def reset(self) -> None:
        """Restarts the device and starts a new session."""
        session = self._session or self._greet()
        # The restart may be faster than the reply. A device that does not know the session has restarted.
        status, _ = self._exchange(session, messages.ResetRequest()).run()
        if status not in (Status.OK, Status.SESSION):
            raise DeviceStatusError(
                f"{self._line.name}: the device refuses RESET, got status {status} ({words(status)}), expected 0. "
                "Restart the device by its reset button or power",
                status,
            )
        self._greet()

    def _greet(self) -> _Hello:
        self._session = None
        nonce = secrets.randbelow(0xFFFFFFFF) + 1
        self._line.forget_events()
        header = Header(Type.HELLO, 0, 0, nonce)
        window = SendWindow()
        timing, payload = self._timing.for_hello(), messages.HelloRequest(0xFFFF).pack()
        # The device may be booting, so earlier round trips do not predict this one.
        exchange = Exchange(self._line, timing, header, payload, window, Pace(self._line, timing))
        status, payload = exchange.run()
        if status == Status.UNSUPPORTED or (payload and payload[0] != messages.MAJOR):
            theirs = ".".join(map(str, payload[:2])) or "unknown"
            raise ProtocolError(
                f"{self._line.name}: the device speaks another version of the protocol, got {theirs}, "
                f"expected {messages.MAJOR}.x. {BUILD_AGAIN}"
            )
        if status != Status.OK:
            raise ProtocolError(
                f"{self._line.name}: the device refuses HELLO, got status {status} ({words(status)}), expected 0. "
                f"{BUILD_AGAIN}"
            )
        reply = replies.Hello.unpack(payload)
        if reply.max_frame < messages.MIN_FRAME:
            raise ProtocolError(
                f"{self._line.name}: the device's messages are too short, got {reply.max_frame} bytes, expected at "
                f"least {messages.MIN_FRAME}. Make frame_bytes of the server larger in the device's image"
            )
        if reply.tick_hz == 0:
            raise ProtocolError(
                f"{self._line.name}: the device's clock stands still, got 0 ticks in a second. Check the "
                "counter of its port"
            )
        self._id = 0
        window.open(reply)
        session = self._session = _Hello(nonce, reply, window)
        try:
            # The check may send requests, so the session exists already. If the check refuses the device, the session
            # ends.
            if self.check is not None:
                with self._recovering():
                    self.check(reply)
        except BaseException:
            self._session = None
            raise
        return session

    def _restarted(self, request: Request, *, said_so: bool) -> DeviceError:
        """Starts a new session with a device that has lost the old one, and returns what to raise."""
        where = f"{self._line.name}: {request.type.name}"
        if self._recovers:
            # Do not retry: a device may lose every session.
            return DeviceError(f"{where}: the device has lost a session that has just begun. Reset it")
        with self._recovering():
            return self._what_happened(where, said_so=said_so)

    def _what_happened(self, where: str, *, said_so: bool) -> DeviceError:
        hello = self._greet().reply
        if hello.fault == 0:
            what = "restarted" if said_so else "lost the session, got a restart or another host"
            return DeviceError(
                f"{where}: the device {what}, expected a reply. Inputs, outputs and state on it are gone; repeat the "
                "call"
            )
        fault = self.fault()
        if fault.core:
            return self._crashed(
                fault, f"{where}: the device restarted after its core {fault.core} crashed", _RESTARTED
            )
        return self._crashed(fault, f"{where}: the device crashed and restarted", _RESTARTED)

    @contextlib.contextmanager
    def _recovering(self) -> Iterator[None]:
        """Marks that a session is being started: an error then does not start another session."""
        before, self._recovers = self._recovers, True
        try:
            yield
        finally:
            self._recovers = before

    def _crashed(self, fault: FaultRecord, what: str, next_step: str) -> DeviceFault:
        report = self.explain(fault) if self.explain is not None else fault
        return DeviceFault(f"{what}, got {report}\n{next_step}", report)

    def _raise_core_fault(self, request: Request) -> None:
        """Raises the fault of another core of the device, if that fault made the request fail."""
        fault = self.fault()
        if fault.core:
            raise self._crashed(
                fault,
                f"{self._line.name}: {request.type.name}: core {fault.core} of the device crashed and stays stopped",
                _STOPPED,
            )
