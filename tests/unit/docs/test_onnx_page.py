"""The page on ONNX files lists every operator that is read, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from aboard.importers.onnx.operator import readers

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "onnx.md"

#: Named on the page as what is computed while the file is read.
FOLDED = {"Constant", "ConstantOfShape", "EyeLike", "Range", "Shape", "Size"}


def test_the_list_is_that_of_the_readers():
    section = PAGE.read_text().partition("## Operators")[2].partition("## Quantised files")[0]
    lists = " ".join(section.split("\n- ")[1:])
    named = set(re.findall(r"\b[A-Z][A-Za-z0-9]*[a-z0-9L][A-Za-z0-9]*\b|\b[A-Z]{3,}\b|\bOr\b", lists))
    read = {kind for kind in readers() if "." not in kind}
    assert read | FOLDED <= named, sorted((read | FOLDED) - named)
    words = {
        "Arithmetic",
        "Functions",
        "Activations",
        "Convolutions",
        "Matrices",
        "Recurrent",
        "Normalisations",
        "Attention",
    }
    words |= {"If", "Loop", "Scan"}
    words |= {"Reductions", "Movement", "Constants", "Quantisation", "Operators", "Resize"}
    assert named - words <= read | FOLDED, sorted(named - words - read - FOLDED)
