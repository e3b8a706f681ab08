"""Importers: from a model file to the intermediate representation. One file format per file, found by `load`."""

from aboard.importers.registry import Importer, load, register

__all__ = ["Importer", "load", "register"]
