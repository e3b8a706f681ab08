"""Writes files and folders where the user asked for them. Every command and function follows one rule.

aboard replaces its own files if nobody has changed them since. It refuses to replace other files; the error names them
and lists the files that `force` would overwrite. With `force`, only these files are overwritten and all other files
stay.

- A folder (`folder`) holds the file `RECORD` with the hashes of the files that aboard wrote.
- A file (`file`) holds a seal: a hash of itself.
- A symbolic link stays a link: its target is written.
- Writing is atomic: the new contents are made beside the destination and moved there in one step. A process that is
  killed leaves the old or the new contents.
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
