"""Text as a hostile model, device, board file or package would have it, and a model that has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from support.tflite_builder import ModelBuilder

#: What ends, nests or continues something in a language of a generated file, and what drives terminals.
MARKS = (
    *('"', "'", "\\", "\\\n", "*/", "/*", "*\\", "//", "??/", "??=", "???", "%s", "${x}", "$<1:x>", "$(id)", "`id`"),
    *(
        "\n",
        "\r\n",
        "\t",
        "\x00",
        "\x07",
        "\x1b]0;title\x07",
        "\x1b[31m",
        "\x7f",
        "\x9b31m",
        "\u2028",
        "\u202e",
        "\u200b",
    ),
    *("#define", "<script>", "]]>", "&lt;", "[bold]", "\U0001f600", "\udc80", "\udce9", "é", "0", "7", "9a", "x", " "),
)
TEXTS = st.lists(st.sampled_from(MARKS) | st.text(max_size=6), max_size=8).map("".join)
#: The same as a file can have it: what has a form in UTF-8.
NAMES = TEXTS.map(lambda text: text.encode("utf-8", "ignore").decode())


def model_with(names: Sequence[str]) -> bytes:
    """Returns a model whose tensors have these names; the first is its input, the others are its outputs."""
    model, last = ModelBuilder(), len(names) - 1
    for number in range(len(names)):
        model.tensor(str(number), (1, 4), np.int8, scale=0.5, zero_point=0)
    for number in range(last):
        model.op("RELU", [number], [number + 1])
    return model.renamed(names).build([0], list(range(1, last + 1)))
