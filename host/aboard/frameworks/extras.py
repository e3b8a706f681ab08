"""The extras of aboard that convert models, and the line that installs their packages.

aboard itself is in no package index, so that the line names the packages: `pyproject.toml` has the same.
"""

from __future__ import annotations

import shlex

#: Requirements by the name of the extra.
EXTRAS = {
    "keras": ("tensorflow>=2.18", "keras>=3.11.3"),
    "torch": ("torch>=2.7", "onnxscript>=0.5", "onnx>=1.19"),
    "sklearn": ("skl2onnx>=1.18", "scikit-learn>=1.4", "onnx>=1.19"),
}


def requirements(extra: str) -> str:
    """Returns the requirements of an extra as words of a command line."""
    return shlex.join(EXTRAS[extra])
