"""The files of a built project that another machine needs to flash, boot and check it, as bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from aboard.api import Project
from aboard.base import manifest
from aboard.base.scratch import Scratch
from aboard.errors import ProjectError
from aboard.project import project as projects
from aboard.runners.base import require_image

if TYPE_CHECKING:
    from aboard.project.project import Project as ProjectFiles

# Images are the bulk, and mostly debug information: the lowest level halves them in a few milliseconds.
_LEVEL = 1


def pack(project: ProjectFiles) -> bytes:
    """Returns the record, the manifests and the image of a built project.

    Raises:
        ToolError: The project has not been built.
    """
    require_image(project)
    names = [projects.FILE_NAME, project.info.image]
    names += [f"models/{name}/{manifest.FILE_NAME}" for name in project.info.models]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name in names:
            archive.writestr(name, (project.path / name).read_bytes())
    return packed.getvalue()


@contextmanager
def unpacked(packed: bytes) -> Iterator[Project]:
    """Yields the project in a temporary folder.

    Args:
        packed: What `pack` returned.

    Raises:
        ProjectError: The bytes are damaged.
    """
    with Scratch() as folder:
        try:
            with zipfile.ZipFile(io.BytesIO(packed)) as archive:
                # extractall drops drive letters, leading slashes and `..`.
                archive.extractall(folder)
        except (zipfile.BadZipFile, OSError) as error:
            raise ProjectError(
                f"project: cannot be unpacked, got {error}, expected what a client of the farm sends. Send it again"
            ) from error
        # Flashers write their log there.
        (folder / projects.BUILD_FOLDER).mkdir(exist_ok=True)
        project = Project.open(folder)
        require_image(project)
        project.image.chmod(0o755)  # archives lose the right to execute
        yield project
