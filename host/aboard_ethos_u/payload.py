"""The container of a command stream for Arm's core driver ("Custom Operator Payload 1").

Words, little-endian: the mark; an action with the registers CONFIG and ID that the stream was compiled for; empty
actions up to the alignment; an action with the length of the stream in words, and the stream.
"""

from __future__ import annotations

import numpy as np

from aboard.ir import Array

_MARK = int.from_bytes(b"COP1", "little")
#: Actions: the low byte is the action.
_CONFIGURATION, _STREAM, _NOTHING = 1, 2, 5
#: Release 0 in four bits and patch 1 in the next four, as Vela writes them; Arm's driver logs them.
_FORMAT = 1 << 4
#: What Arm's driver compares of the register ID.
_ARCHITECTURE = 0xFFFF_0000
#: The stream is aligned to 16 bytes, so its action is the last word before.
_ALIGN_WORDS = 4


def wrapped(stream: Array, config: int, oldest: int) -> Array:
    """Returns a payload as words.

    Args:
        stream: The words of the stream, fewer than 2^24.
        config: What the register CONFIG has to be.
        oldest: The register ID of the oldest NPU that runs the stream.
    """
    head = [_MARK, _CONFIGURATION | _FORMAT << 16, config, oldest & _ARCHITECTURE]
    head += [_NOTHING] * ((_ALIGN_WORDS - 1 - len(head)) % _ALIGN_WORDS)
    head.append(_STREAM | (stream.size >> 16) << 8 | (stream.size & 0xFFFF) << 16)
    return np.concatenate([np.array(head, np.uint32), stream.astype(np.uint32)])
