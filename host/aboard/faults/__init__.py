"""What a fault record means: cause, function, file and line, from the record and the project's image.

`decode` is the whole of it; it never raises, because it explains an error. One file for each architecture says what the
words of a record are and what they tell, `symbols` finds functions and lines.
"""

from __future__ import annotations

from aboard.base.fault_record import Cause, CodePlace, FaultReport
from aboard.faults.decode import decode

__all__ = ["Cause", "CodePlace", "FaultReport", "decode"]
