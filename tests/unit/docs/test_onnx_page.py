"""The page on ONNX files lists every operator that is read, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from onnx import defs

from aboard.importers.onnx import control
from aboard.importers.onnx.operator import readers

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "onnx.md"

#: Named on the page as what is computed while the file is read.
FOLDED = {"Constant", "ConstantOfShape", "EyeLike", "Range", "Shape", "Size"}

#: Named on the page as what the standard defines by others.
DEFINED = {"Attention", "CausalConvWithState", "FlexAttention", "LinearAttention", "RotaryEmbedding"}


def test_the_list_is_that_of_the_readers():
    section = PAGE.read_text().partition("## Operators")[2].partition("## Quantised files")[0]
    lists = " ".join(section.split("\n- ")[1:])
    named = set(re.findall(r"\b[A-Z][A-Za-z0-9]*[a-z0-9L][A-Za-z0-9]*\b|\b[A-Z]{3,}\b|\bOr\b", lists))
    read = {kind for kind in readers() if "." not in kind} | set(control.KINDS) | DEFINED
    assert read | FOLDED <= named, sorted((read | FOLDED) - named)
    words = {
        "Arithmetic",
        "Functions",
        "Activations",
        "Convolutions",
        "Control",
        "Fourier",
        "Loops",
        "Matrices",
        "Recurrent",
        "Normalisations",
    }
    words |= {"Reductions", "Movement", "Constants", "Quantisation", "Operators", "Resize"}
    assert named - words <= read | FOLDED, sorted(named - words - read - FOLDED)


def test_the_list_of_scikit_learn_is_that_of_the_readers():
    section = PAGE.read_text().partition("## Models of scikit-learn")[2].partition("With the operators above")[0]
    words = {"Trees", "Linear", "Features", "All", "LightGBM"}
    named = set(re.findall(r"\b[A-Z][A-Za-z]+\b", section.partition("\n- ")[2])) - words
    assert named == {kind.removeprefix("ai.onnx.ml.") for kind in readers() if kind.startswith("ai.onnx.ml.")}


def test_operators_that_others_define_have_no_reader_of_their_own():
    schemas = [schema for schema in defs.get_all_schemas() if schema.name in DEFINED]
    assert {schema.name for schema in schemas} == DEFINED
    assert all(schema.has_function or schema.has_context_dependent_function for schema in schemas)
    assert not DEFINED & set(readers())
