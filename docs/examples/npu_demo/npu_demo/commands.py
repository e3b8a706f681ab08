"""The command list of v2: what its words say, whether that is right, and how long it takes.

All that can be checked without the data is: alignment, bounds, sizes, bytes of the scratchpad that nobody wrote, and
what the two engines do at the same time. Runs in CPython 3 and in Renode's IronPython 2.7: types stand in comments.
"""

# ruff: noqa: B905, F401, RUF005, UP004, UP006, UP031, UP035 - rules for Python 3 alone, and names in comments with types

from npu_demo.arithmetic import Conv, macs, sizes

MYPY = False
if MYPY:
    from typing import List, Optional, Sequence, Tuple

    Interval = Tuple[int, int]

#: Commands, in the lowest byte of their first word, and how many words they have.
END, LOAD, STORE, CONV, SYNC = range(5)
LENGTHS = {END: 1, LOAD: 6, STORE: 6, CONV: 11, SYNC: 1}
NAMES = {END: "END", LOAD: "LOAD", STORE: "STORE", CONV: "CONV", SYNC: "SYNC"}

#: Alignment in the scratchpad; bytes and multiply-accumulates in a cycle; cycles to begin a run and a convolution.
ALIGN = 16
BYTES_PER_CYCLE = 4
MACS_PER_CYCLE = 16
RUN_CYCLES = 4
CONV_CYCLES = 32
#: Registers BASE0 to BASE3.
BASE_COUNT = 4


class UsageError(Exception):
    """The device is used wrongly."""


class BusError(Exception):
    """Memory is not there, or cannot be written."""


class Command(object):
    """A command that moves or computes.

    Attributes:
        at: Index of its first word.
        reads: Parts of the scratchpad that it reads.
        writes: Parts that it writes.
        cycles: How long it takes.
        conv: What is computed; None in a transfer.
        load: True for a transfer into the scratchpad.
        base: Number of the register that the memory offset counts from.
        offset: Bytes from there.
        bytes: Of each run.
        runs: How many there are.
        stride: Bytes from the start of a run to that of the next.
    """

    conv = None  # type: Optional[Conv]
    load = False
    base = offset = bytes = runs = stride = 0

    def __init__(self, at, reads, writes, cycles):
        # type: (int, List[Interval], List[Interval], int) -> None
        self.at = at
        self.reads = reads
        self.writes = writes
        self.cycles = cycles


class Program(object):
    """A list that is right: the commands in order, and the cycles they take together."""

    def __init__(self, size):
        # type: (int) -> None
        self.commands = []  # type: List[Command]
        self.cycles = 0
        self._size = size
        self._written = bytearray(size)
        self._moving = []  # type: List[Command]
        self._computing = []  # type: List[Command]

    def add(self, command):
        # type: (Command) -> None
        """Takes a command.

        Raises:
            UsageError: It leaves the scratchpad, is misaligned, or reads what nobody wrote.
        """
        for start, stop in command.reads + command.writes:
            if start % ALIGN:
                raise fault(command.at, "scratchpad offset, got %d, expected a multiple of %d" % (start, ALIGN))
            if stop > self._size:
                raise fault(
                    command.at,
                    "leaves the scratchpad, got bytes %d to %d, expected at most %d" % (start, stop, self._size),
                )
        for start, stop in command.reads:
            missing = self._written.find(b"\0", start, stop)
            if missing >= 0:
                raise fault(
                    command.at,
                    "reads what nobody wrote, got byte %d of the scratchpad, expected one that was loaded or computed "
                    "in this list" % missing,
                )
        for start, stop in command.writes:
            self._written[start:stop] = b"\1" * (stop - start)
        self.commands.append(command)
        (self._moving if command.conv is None else self._computing).append(command)

    def sync(self):
        # type: () -> None
        """Waits for both engines.

        Raises:
            UsageError: One wrote what the other read or wrote, so that the result depends on their speed.
        """
        for moved in self._moving:
            for computed in self._computing:
                shared = _overlap(moved.writes, computed.reads + computed.writes) or _overlap(
                    moved.reads, computed.writes
                )
                if shared:
                    raise fault(
                        max(moved.at, computed.at),
                        "is at work on bytes %d to %d of the scratchpad together with the command at word %d, expected "
                        "SYNC between them" % (shared[0][0], shared[0][1], min(moved.at, computed.at)),
                    )
        self.cycles += max(sum(c.cycles for c in self._moving), sum(c.cycles for c in self._computing))
        self._moving = []
        self._computing = []


def decode(words, size):
    # type: (Sequence[int], int) -> Program
    """Returns what a list of words says.

    Args:
        words: The list, END included.
        size: Bytes of the scratchpad.

    Raises:
        UsageError: It is wrong.
    """
    program = Program(size)
    at = 0
    while at < len(words):
        code = words[at] & 0xFF
        if code not in LENGTHS:
            raise fault(at, "command, got %d, expected one of 0 to %d" % (code, max(LENGTHS)))
        parts = words[at : at + LENGTHS[code]]
        if len(parts) < LENGTHS[code]:
            raise fault(at, "%s is cut off, got %d words, expected %d" % (NAMES[code], len(parts), LENGTHS[code]))
        if code in (END, SYNC):
            program.sync()
        else:
            program.add(_conv(at, parts) if code == CONV else _transfer(at, parts))
        at += len(parts)
        if code == END:
            break
    else:
        raise fault(at, "list, got no END, expected one as the last command")
    if at != len(words):
        raise fault(at, "list, got %d words behind END, expected none" % (len(words) - at))
    return program


def fault(at, text):
    # type: (int, str) -> UsageError
    """Returns an error in a list."""
    return UsageError("npu-demo v2: command list, word %d: %s" % (at, text))


def _transfer(at, parts):
    # type: (int, Sequence[int]) -> Command
    load = parts[0] & 0xFF == LOAD
    base, (offset, place, size, runs, stride) = parts[0] >> 8, parts[1:]
    if base >= BASE_COUNT:
        raise fault(at, "base, got %d, expected one of 0 to %d" % (base, BASE_COUNT - 1))
    if size < 1 or runs < 1:
        raise fault(at, "size, got %d runs of %d bytes, expected at least 1 of 1" % (runs, size))
    if runs > 1 and stride < size:
        raise fault(at, "stride, got %d for runs of %d bytes, expected at least as much" % (stride, size))
    interval = [(place, place + size * runs)]
    cycles = RUN_CYCLES * runs - (-size * runs // BYTES_PER_CYCLE)
    command = Command(at, [] if load else interval, interval if load else [], cycles)
    command.load = load
    command.base, command.offset, command.bytes, command.runs, command.stride = base, offset, size, runs, stride
    return command


def _conv(at, parts):
    # type: (int, Sequence[int]) -> Command
    form, places = parts[0] >> 8, parts[1:5]
    if form > 1:
        raise fault(at, "form, got %d, expected 0 (convolution) or 1 (depthwise)" % form)
    (rows, cols), (channels, outputs), (out_rows, out_cols) = [(w & 0xFFFF, w >> 16) for w in parts[5:8]]
    height, width, down, right = _bytes(parts[8])
    top, bottom, left, past = _bytes(parts[9])
    zero_in, zero_out, low, high = [value - 256 if value > 127 else value for value in _bytes(parts[10])]
    conv = Conv(
        bool(form),
        False,
        rows,
        cols,
        channels,
        out_rows,
        out_cols,
        outputs,
        (height, width),
        (down, right),
        (top, bottom, left, past),
        (zero_in, zero_out),
        (low, high),
    )
    _check(at, conv)
    ends = [(place, place + size) for place, size in zip(places, sizes(conv))]
    command = Command(at, ends[:3], ends[3:], CONV_CYCLES - (-macs(conv) // MACS_PER_CYCLE))
    command.conv = conv
    return command


def _check(at, conv):
    # type: (int, Conv) -> None
    extents = [conv.rows, conv.cols, conv.channels, conv.out_rows, conv.out_cols, conv.outputs]
    if min(extents + list(conv.strides)) < 1:
        raise fault(at, "sizes and strides, got %s and %s, expected 1 or more" % (extents, list(conv.strides)))
    if conv.window not in ((1, 1), (3, 3)) or (conv.depthwise and conv.window == (1, 1)):
        expected = "3x3" if conv.depthwise else "1x1 or 3x3"
        raise fault(at, "window, got %dx%d, expected %s" % (conv.window + (expected,)))
    if conv.depthwise and conv.channels != conv.outputs:
        raise fault(at, "channels, got %d and %d, expected equal ones" % (conv.channels, conv.outputs))
    if conv.limits[0] > conv.limits[1]:
        raise fault(at, "limits of the activation, got %d to %d, expected them in order" % conv.limits)
    for axis, (size, out) in enumerate(((conv.rows, conv.out_rows), (conv.cols, conv.out_cols))):
        before, after = conv.padding[2 * axis : 2 * axis + 2]
        window, stride = conv.window[axis], conv.strides[axis]
        if before >= window or after >= window or (out - 1) * stride + window > before + size + after:
            raise fault(
                at,
                "geometry, got %d windows of %d at stride %d over %d pixels with padding %d and %d, expected windows "
                "within image and padding, and padding below the window" % (out, window, stride, size, before, after),
            )


def _bytes(value):
    # type: (int) -> Tuple[int, int, int, int]
    return value & 0xFF, value >> 8 & 0xFF, value >> 16 & 0xFF, value >> 24


def _overlap(some, others):
    # type: (List[Interval], List[Interval]) -> List[Interval]
    both = [(max(a, c), min(b, d)) for a, b in some for c, d in others]
    return [(start, stop) for start, stop in both if start < stop]
