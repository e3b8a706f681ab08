"""Frameworks that train models: their files and objects become TFLite or ONNX bytes, which importers read.

| file | what it does |
|---|---|
| `signatures` | names the format of a file by its content |
| `foreign` | formats that aboard neither reads nor converts, with what to do |
| `model_file` | the bytes of a model file, converted where need be |
| `objects` | models as Python objects |
| `conversion` | runs a converter in a process of its own |
| `worker` | what that process runs |
| `extras` | packages that convert, and how to install them |
| `keras`, `pytorch`, `scikit_learn` | one framework each |

No framework is imported before a file or an object of it is given.
"""

from aboard.frameworks.model_file import is_model_folder, read_bytes
from aboard.frameworks.objects import as_file

__all__ = ["as_file", "is_model_folder", "read_bytes"]
