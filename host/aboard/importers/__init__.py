"""Importers: from a model file to the intermediate representation. One format per file; `load` finds the importer."""

from aboard.importers.registry import Importer, identifier, load, register

__all__ = ["Importer", "identifier", "load", "register"]
