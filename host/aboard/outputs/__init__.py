"""What aboard writes where a user said, by one rule that every command and function keeps.

aboard replaces what it wrote itself and nobody has changed since. Anything else is refused with what it is, and with
what `force` would overwrite. With `force` just that is overwritten, and all else that is there stays.

- A folder (`folder`) holds a record of the files that were written, with their hashes, in `RECORD`.
- A file (`file`) holds a seal: a hash of itself.
- A symbolic link stays one: what it leads to is written.
- All of it is written, or nothing: it is made beside its place, and takes it in one step. A process that is killed
  leaves the old or the new.
"""

from aboard.outputs.file import SEAL, check_file, put, sealed, write_file, write_files
from aboard.outputs.folder import refuse_other, write_folder
from aboard.outputs.place import followed
from aboard.outputs.record import RECORD

__all__ = [
    "RECORD",
    "SEAL",
    "check_file",
    "followed",
    "put",
    "refuse_other",
    "sealed",
    "write_file",
    "write_files",
    "write_folder",
]
