"""Decodes fault records to cause, function, file and line, with the project's image.

`decode` is the only entry point. It never raises, because it explains an error. One file for each architecture defines
the words of a record and their meaning. `symbols` finds functions and lines.
"""

from __future__ import annotations

from aboard.base.fault_record import Cause, CodePlace, FaultReport
from aboard.faults.decode import decode

__all__ = ["Cause", "CodePlace", "FaultReport", "decode"]
