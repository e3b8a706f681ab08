"""Ops: what each operation means. One op, or one family of ops, per file; `registry` finds them all."""

from aboard.ops.registry import Op, SourceNode, from_tflite, get, names, register, require, rows_of, tflite_kinds

__all__ = ["Op", "SourceNode", "from_tflite", "get", "names", "register", "require", "rows_of", "tflite_kinds"]
