"""What all tests share.

Tests that need a source tree of CMSIS-NN are deselected where there is none, and the first lines say so
(`support.cmsis_nn_tree`).
Tests that need TensorFlow, PyTorch or scikit-learn are left to `make test-frameworks`, those that need labgrid to
`make test-labgrid`.
Tests that run on a list of models are deselected where none of these is there (`support.models`). In CI the cases
that hypothesis draws are the same in every run, so that a change is judged by its own doing; elsewhere they are new.
No test reads the tuning records of whoever runs it, and none has plug-ins that happen to be installed: a test of a
plug-in enables it.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from support import cmsis_nn_tree, installed_plugins, renode

#: `make test-frameworks` has the packages that the tests of this folder need.
collect_ignore = [] if os.environ.get("ABOARD_FRAMEWORKS") else ["frameworks"]
#: `make test-labgrid` names the folder of labgrid's programs.
collect_ignore += [] if os.environ.get("ABOARD_LABGRID") else ["labgrid"]

# Set before collection, since modules of tests make targets; commands that tests start read it too.
os.environ.update(installed_plugins.disabled())

settings.register_profile("ci", derandomize=True, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


@pytest.fixture(autouse=True, scope="session")
def no_records(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Names a file of records that is not there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ABOARD_TUNING", str(tmp_path_factory.mktemp("tuning") / "none.json"))
        yield


@pytest.fixture(autouse=True, scope="session")
def warnings_are_errors() -> Iterator[None]:
    """Makes CMake compile projects with -Werror, which those of users do not carry."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", "-Werror")
        yield


@pytest.fixture(autouse=True, scope="session")
def compiled_once(pytestconfig: pytest.Config) -> Iterator[None]:
    """Lets ccache, where it is installed, keep what CMake compiles: hundreds of projects have the same firmware."""
    if shutil.which("ccache") is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMAKE_C_COMPILER_LAUNCHER", "ccache")
        patch.setenv("CCACHE_DIR", str(pytestconfig.rootpath / ".pytest_cache" / "ccache"))
        # Paths below this folder are no part of what is compared.
        patch.setenv("CCACHE_BASEDIR", tempfile.gettempdir())
        patch.setenv("CCACHE_NOHASHDIR", "1")
        yield


@pytest.fixture(autouse=True, scope="session")
def wide_terminal() -> Iterator[None]:
    """Gives the output of commands room, so that tests find rows of tables whole."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "240")
        yield


def pytest_report_header() -> list[str]:
    return [cmsis_nn_tree.report(), renode.report()]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    def has_a_case(item: pytest.Item) -> bool:
        reasons = (mark.kwargs.get("reason", "") for mark in item.iter_markers("skip"))
        return not any(str(reason).startswith("got empty parameter set") for reason in reasons)

    without = [item for item in items if not has_a_case(item)]
    if without:
        config.hook.pytest_deselected(items=without)
        items[:] = [item for item in items if has_a_case(item)]
