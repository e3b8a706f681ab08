from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aboard.device.trace import TraceCollector
from aboard.errors import ProtocolError
from aboard.rpc.replies import TraceEvent
from support.toy_project import ADDER

PIECE = TraceEvent(sequence=0, node=1, output=0, row=1, offset=3, row_bytes=9, data=bytes([1, 2, 3, 4, 5, 6]))


def test_pieces_go_where_they_belong() -> None:
    collector = TraceCollector(ADDER.nodes, [1])
    collector.take(PIECE)
    assert collector.missing() == [1]
    collector.take(replace(PIECE, row=0, offset=0, data=bytes(range(10, 19))))
    collector.take(replace(PIECE, offset=0, data=b"\0\0\0"))
    assert collector.missing() == []
    tensor = collector.results()[1]["negated"]
    assert isinstance(tensor, np.ma.MaskedArray)
    np.testing.assert_array_equal(tensor.filled(-1)[0, 0], [[10, 11, -1, 12], [13, 14, -1, 15], [16, 17, -1, 18]])
    np.testing.assert_array_equal(tensor.filled(-1)[0, 1], [[0, 0, -1, 0], [1, 2, -1, 3], [4, 5, -1, 6]])


def test_nodes_that_were_not_asked_for_are_ignored() -> None:
    collector = TraceCollector(ADDER.nodes, [0, 2])
    collector.take(PIECE)
    collector.take(replace(PIECE, node=2, output=1))
    assert collector.missing() == [0, 2]
    assert list(collector.results()) == [0, 2]


@pytest.mark.parametrize("wrong", [{"row_bytes": 12}, {"row": 2}, {"offset": 4}])
def test_a_piece_that_does_not_fit_is_refused(wrong: dict[str, int]) -> None:
    collector = TraceCollector(ADDER.nodes, [1])
    with pytest.raises(ProtocolError, match=r"trace of negate: does not fit the manifest, got \d+ bytes in row \d"):
        collector.take(replace(PIECE, **wrong))
    assert collector.missing() == [1]
