"""The version of the package, as installed."""

from __future__ import annotations

from importlib import metadata

try:
    VERSION = metadata.version("aboard")
except metadata.PackageNotFoundError:  # a checkout that was never installed
    VERSION = "0+unknown"
