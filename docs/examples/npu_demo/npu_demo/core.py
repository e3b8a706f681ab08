"""The accelerator: registers, state, time. The data sheet is README.md of the package.

Runs in CPython 3 and in Renode's IronPython 2.7: types stand in comments. What differs between emulators is handed in:
memory, clock and arithmetic.
"""

# ruff: noqa: B904, F401, UP004, UP031, UP035 - rules for Python 3 alone, and names in comments with types

from npu_demo.arithmetic import Conv, macs, sizes, word
from npu_demo.commands import BusError, UsageError, decode

MYPY = False
if MYPY:
    from typing import Any, Callable, Dict, List, Optional

#: Offsets of the registers.
ID, CTRL, STATUS, SCRATCHPAD, CYCLES = 0x00, 0x04, 0x08, 0x0C, 0x10
BASES = (0x20, 0x24, 0x28, 0x2C)
LIST, WORDS = 0x30, 0x34
JOB = tuple(range(0x40, 0x54, 4))
SIZE = 0x100

#: Bits of CTRL, and of STATUS.
ACTIVE, START = 1, 2
BUSY, DONE = 2, 4

#: ID without the version in its lowest byte.
MAGIC = 0x4E505500
#: Cycles to begin a job; multiply-accumulates and bytes in a cycle of v1.
START_CYCLES = 32
V1_MACS, V1_BYTES = 4, 4

_NAMES = {ID: "ID", CTRL: "CTRL", STATUS: "STATUS", SCRATCHPAD: "SCRATCHPAD", CYCLES: "CYCLES"}
_NAMES.update({offset: "BASE%d" % number for number, offset in enumerate(BASES)})
_LISTS = {LIST: "LIST", WORDS: "WORDS"}
_JOBS = {offset: "JOB%d" % number for number, offset in enumerate(JOB)}
_READ_ONLY = (ID, STATUS, SCRATCHPAD, CYCLES)


class Device(object):
    """The accelerator.

    Attributes:
        until: When the job ends, by the clock; None while there is none.
    """

    def __init__(self, version, scratchpad, memory, clock, compute):
        # type: (int, int, Any, Callable[[], int], Callable[[Conv, bytes, bytes, bytes], bytes]) -> None
        """Makes a device after reset.

        Args:
            version: 1 or 2.
            scratchpad: Bytes of the scratchpad; 0 in v1.
            memory: Has `read(address, size)` and `write(address, data)`, which raise `BusError`.
            clock: Returns cycles.
            compute: `arithmetic.compute`, or what equals it.
        """
        self.version = version
        self._memory = memory
        self._clock = clock
        self._compute = compute
        self._bytes = scratchpad
        self._names = dict(_NAMES)
        self._names.update(_LISTS if version == 2 else _JOBS)
        self.reset()

    def reset(self):
        # type: () -> None
        """Puts it into the state after reset."""
        self._values = {}  # type: Dict[int, int]
        self._active = False
        self._done = False
        self._cycles = 0
        self._program = []  # type: List[Any]
        self.until = None  # type: Optional[int]

    def read(self, offset, size):
        # type: (int, int) -> int
        """Returns the value of a register.

        Raises:
            UsageError: There is none, or it is not read as a word.
        """
        name = self._register(offset, size)
        self.update()
        if offset == ID:
            return MAGIC | self.version
        if offset == STATUS:
            busy = BUSY if self.until is not None else 0
            return (ACTIVE if self._active else 0) | busy | (DONE if self._done else 0)
        if offset == SCRATCHPAD:
            return self._bytes
        if offset == CYCLES:
            return self._cycles
        if offset == CTRL:
            raise self._fault(name, "is read, got offset %#x, expected a register that can be read. Read STATUS" % CTRL)
        return self._values.get(offset, 0)

    def write(self, offset, size, value):
        # type: (int, int, int) -> None
        """Takes a value for a register.

        Raises:
            UsageError: It cannot be written, or not now, or what is started is wrong.
        """
        name = self._register(offset, size)
        self.update()
        if offset in _READ_ONLY:
            raise self._fault(name, "is written, got %#x, expected no write. It can only be read" % value)
        if self.until is not None:
            raise self._fault(name, "is written, got %#x while BUSY, expected STATUS.DONE. Wait for the job" % value)
        if offset == CTRL:
            self._control(value)
            return
        if not self._active:
            raise self._fault(name, "is written, got %#x while not ACTIVE, expected CTRL.ACTIVE first" % value)
        if offset in BASES or offset == LIST:
            self._check_aligned(name, value)
        self._values[offset] = value

    def update(self):
        # type: () -> None
        """Ends the job when its time has come: only then is its result in memory.

        Raises:
            UsageError: Memory that it reads or writes is not there.
        """
        if self.until is not None and self._clock() >= self.until:
            self.until = None
            self._done = True
            self._run()

    def _register(self, offset, size):
        # type: (int, int) -> str
        if size != 4 or offset not in self._names:
            raise UsageError(
                "npu-demo v%d: offset %#x: is accessed, got %d bytes, expected one of the registers, as a word of 4. "
                "See the data sheet" % (self.version, offset, size)
            )
        return self._names[offset]

    def _fault(self, register, text):
        # type: (str, str) -> UsageError
        return UsageError("npu-demo v%d: %s: %s" % (self.version, register, text))

    def _check_aligned(self, name, value):
        # type: (str, int) -> None
        if value % 16:
            raise self._fault(name, "address is misaligned, got %#010x, expected a multiple of 16" % value)

    def _control(self, value):
        # type: (int) -> None
        if value not in (0, ACTIVE, ACTIVE | START):
            raise self._fault("CTRL", "value, got %#x, expected 0, ACTIVE or ACTIVE | START" % value)
        if value & START and not self._active:
            raise self._fault("CTRL", "START, got it while not ACTIVE, expected CTRL.ACTIVE in a write before")
        if value == ACTIVE and self._active:
            raise self._fault("CTRL", "ACTIVE, got it while ACTIVE, expected 0 before. Close the device first")
        self._done = False
        if not value & START:
            self._active = value == ACTIVE
            self._values = {}
            return
        self._program, self._cycles = self._job() if self.version == 1 else self._list()
        self.until = self._clock() + self._cycles

    def _value(self, offset):
        # type: (int) -> int
        if offset not in self._values:
            raise self._fault("CTRL", "START, got no value in %s, expected one. Write it" % self._names[offset])
        return self._values[offset]

    def _job(self):
        # type: () -> Any
        """Returns what v1 has to do, and the cycles it takes."""
        x, y, weights, parameters = [self._value(offset) for offset in BASES]
        rows, inner, outputs, zero_in, zero_out = [self._value(offset) for offset in JOB]
        if not (0 < rows < 1 << 16 and 0 < inner < 1 << 16 and 0 < outputs < 1 << 16):
            raise self._fault(
                "JOB", "rows, inputs, outputs, got %d, %d, %d, expected 1 to 65535 each" % (rows, inner, outputs)
            )
        zeros = zero_in - ((zero_in & 0x80000000) << 1), zero_out - ((zero_out & 0x80000000) << 1)
        if not all(-128 <= zero <= 127 for zero in zeros):
            raise self._fault("JOB", "zero points, got %d and %d, expected -128 to 127" % zeros)
        conv = Conv(False, True, rows, 1, inner, rows, 1, outputs, (1, 1), (1, 1), (0, 0, 0, 0), zeros, (-128, 127))
        cycles = START_CYCLES - (-macs(conv) // V1_MACS) - (-sum(sizes(conv)) // V1_BYTES)
        return [(conv, x, weights, parameters, y)], cycles

    def _list(self):
        # type: () -> Any
        """Returns what v2 has to do, and the cycles it takes."""
        address, count = self._value(LIST), self._value(WORDS)
        if not 0 < count < 1 << 20:
            raise self._fault("WORDS", "got %d words, expected 1 to 1048575" % count)
        data = bytearray(self._memory_read("LIST", address, 4 * count))
        words = [word(data, at) for at in range(0, len(data), 4)]
        program = decode(words, self._bytes)
        return program.commands, START_CYCLES + program.cycles

    def _run(self):
        # type: () -> None
        if self.version == 1:
            for conv, x, weights, parameters, y in self._program:
                x_bytes, weight_bytes, parameter_bytes, _ = sizes(conv)
                result = self._compute(
                    conv,
                    self._memory_read("BASE0", x, x_bytes),
                    self._memory_read("BASE2", weights, weight_bytes),
                    self._memory_read("BASE3", parameters, parameter_bytes),
                )
                self._memory_write("BASE1", y, result)
            return
        scratchpad = bytearray(self._bytes)
        for command in self._program:
            if command.conv is not None:
                self._convolve(scratchpad, command)
            elif command.load:
                self._load(scratchpad, command)
            else:
                self._store(scratchpad, command)

    def _convolve(self, scratchpad, command):
        # type: (bytearray, Any) -> None
        places = [bytes(scratchpad[start:stop]) for start, stop in command.reads]
        start, stop = command.writes[0]
        scratchpad[start:stop] = self._compute(command.conv, *places)

    def _load(self, scratchpad, command):
        # type: (bytearray, Any) -> None
        start = command.writes[0][0]
        base = self._value(BASES[command.base]) + command.offset
        # One piece of memory that holds all runs is quicker to get than many small ones.
        span = command.stride * (command.runs - 1) + command.bytes
        data = self._memory_read("LOAD, word %d" % command.at, base, span)
        for run in range(command.runs):
            piece = data[run * command.stride : run * command.stride + command.bytes]
            scratchpad[start : start + command.bytes] = piece
            start += command.bytes

    def _store(self, scratchpad, command):
        # type: (bytearray, Any) -> None
        start = command.reads[0][0]
        address = self._value(BASES[command.base]) + command.offset
        for run in range(command.runs):
            piece = bytes(scratchpad[start : start + command.bytes])
            self._memory_write("STORE, word %d" % command.at, address + run * command.stride, piece)
            start += command.bytes

    def _memory_read(self, what, address, size):
        # type: (str, int, int) -> bytes
        try:
            return bytes(self._memory.read(address, size))
        except BusError as error:
            raise self._fault(what, str(error))

    def _memory_write(self, what, address, data):
        # type: (str, int, bytes) -> None
        try:
            self._memory.write(address, data)
        except BusError as error:
            raise self._fault(what, str(error))
