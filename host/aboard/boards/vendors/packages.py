"""The packages that read vendors' descriptions: the extra `vendors` of aboard."""

from __future__ import annotations

import importlib
from typing import Any

from aboard.errors import ToolError


def load(module: str, package: str) -> Any:
    """Imports a module of a package of the extra.

    Args:
        module: Full name of the module.
        package: Name of the package in the package index.

    Raises:
        ToolError: The package is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ToolError(
            f"{package}: the package is missing, got: {error}, expected the extra vendors of aboard. Run pip install "
            f"{package}"
        ) from error
