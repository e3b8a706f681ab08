"""Partitioning: which device of a composite target computes which part of the graph."""
