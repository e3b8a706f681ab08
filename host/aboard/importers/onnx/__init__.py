"""Imports ONNX files, for which the package `onnx` is needed (the extra `aboard[onnx]`).

| file | what it does |
|---|---|
| `file` | reads the protocol buffer; fixes free dimensions; refuses what no operator can express |
| `reader` | goes through the nodes in order, and builds the graph |
| `control` | branches and loops, whose graphs the reader reads |
| `distances` | loops that compute distances, which become one node |
| `ensembles`, `tree_files` | decision trees: checked, and as tables |
| `scores` | what operators that classify or regress have in common |
| `border` | inputs and outputs |
| `names` | names of tensors and nodes |
| `operator` | one node of the file, and the table of functions that read nodes |
| `builder` | makes nodes of the intermediate representation |
| `folding` | computes nodes of constants, with the reference evaluator of the package `onnx` |
| `affine`, `layers` | fold constant factors and summands into the layers beside them |
| `moved_integers` | gives integers that are moved before their scale is known one quantisation |
| `operators/` | the functions, a file for each family |

Nothing here imports `onnx` before a file is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import override

from aboard.importers.registry import Importer, register
from aboard.ir import Graph


@register
class OnnxImporter(Importer):
    """Reads ONNX files of opset 7 to 28: static shapes, operators that the intermediate representation expresses."""

    format = "ONNX"
    suffixes = (".onnx",)

    @override
    def recognises(self, data: bytes) -> bool:
        """True if the file begins as exporters write models: the version of the format, then a known field.

        A protocol buffer has no identifier. Field 1 is a small number, and the next is one of the model's own.
        """
        return data[:1] == b"\x08" and 3 <= int.from_bytes(data[1:2], "little") <= 32 and data[2:3] in _NEXT

    @override
    def read(self, data: bytes, where: str, dimensions: Mapping[str, int]) -> Graph:
        from aboard.importers.onnx import file, reader

        return reader.read(file.parse(data, where, dimensions), where)


#: Tags of the fields behind the version: producer, its version, domain, model version, text, graph, opset, functions.
_NEXT = frozenset(bytes([tag]) for tag in (0x12, 0x1A, 0x22, 0x28, 0x32, 0x3A, 0x42, 0x72))
