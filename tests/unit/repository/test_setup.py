"""What `make setup` does on machines that have next to nothing, with a stand-in for apt."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support import markdown

NEEDED = ("bash", "env", "id", "make", "dirname")

APT = """#!/bin/sh
echo "$@" >> "{log}"
case "$*" in *install*{refused}*) exit 100 ;; esac
exit 0
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Returns a folder that is the whole PATH of a machine with a shell and little else."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        assert found is not None
        (path / name).symlink_to(found)
    return path


def script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def tools(machine: Path, what: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(markdown.CHECKOUT / ".ci" / "tools"), what],
        env={"PATH": str(machine), "HOME": str(machine)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def as_user(machine: Path, uid: int) -> None:
    (machine / "id").unlink()
    script(machine / "id", f"#!/bin/sh\necho {uid}\n")


def test_with_apt_and_root_the_packages_are_installed(machine: Path, tmp_path: Path) -> None:
    as_user(machine, 0)
    script(machine / "apt-get", APT.format(log=tmp_path / "log", refused="never"))
    done = tools(machine, "run")
    assert done.returncode == 0
    calls = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert calls[0].endswith("update")
    assert "install --no-install-recommends gcc-arm-none-eabi" in calls[1]
    assert "qemu-system-arm" in calls[1]
    assert len(calls) == 2


def test_a_package_that_is_missing_does_not_stop_the_others(machine: Path, tmp_path: Path) -> None:
    as_user(machine, 0)
    script(machine / "apt-get", APT.format(log=tmp_path / "log", refused="picolibc"))
    done = tools(machine, "run")
    assert done.returncode == 0
    assert "not installed: picolibc-riscv64-unknown-elf. Going on without" in done.stderr
    calls = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert any(call.endswith("install --no-install-recommends qemu-system-misc") for call in calls)


def test_without_root_or_apt_it_goes_on_and_says_what_to_do(machine: Path) -> None:
    as_user(machine, 1000)
    without_apt = tools(machine, "run")
    assert without_apt.returncode == 0
    assert "No apt here: install them by hand. Going on with zig and Unicorn" in without_apt.stderr
    script(machine / "apt-get", "#!/bin/sh\nexit 1\n")
    without_root = tools(machine, "run")
    assert without_root.returncode == 0
    assert "To install them: sudo apt-get install gcc-arm-none-eabi" in without_root.stderr


def test_with_everything_there_apt_is_not_asked(machine: Path, tmp_path: Path) -> None:
    script(machine / "apt-get", APT.format(log=tmp_path / "log", refused="never"))
    for program in ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc", "qemu-system-arm", "qemu-system-riscv32"):
        script(machine / program, "#!/bin/sh\n")
    done = tools(machine, "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "log").exists()


def test_python_without_venv_is_no_matter_for_zig(machine: Path) -> None:
    as_user(machine, 1000)
    done = tools(machine, "venv")
    assert done.stderr == "aboard: not found: python3-venv. No apt here: install them by hand\n"


def test_an_unknown_word_is_wrong_usage(machine: Path) -> None:
    assert tools(machine, "everything").returncode == 2


def test_an_old_python_is_refused_by_name(machine: Path, tmp_path: Path) -> None:
    script(machine / "python3", '#!/bin/sh\ncase "$1" in --version) echo Python 3.8.10 ;; *) exit 1 ;; esac\n')
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(markdown.CHECKOUT / name, tmp_path / name)
    shutil.copytree(markdown.CHECKOUT / ".ci", tmp_path / ".ci")
    (machine / "sh").symlink_to(str(shutil.which("sh")))
    done = subprocess.run(
        ["make", "setup"],
        cwd=tmp_path,
        env={"PATH": str(machine), "HOME": str(tmp_path), "SHELL": os.environ.get("SHELL", "/bin/sh")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode != 0
    assert "aboard needs Python 3.10 or newer, got Python 3.8.10. Say make PYTHON=python3.x" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_ci_takes_the_way_of_a_newcomer() -> None:
    script = (markdown.CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
    way = ["make -s demo", "bash tests/newcomer.sh", "make -s setup-dev", "make -s test"]
    assert [line for line in script.splitlines() if line in way] == way
    newcomer = (markdown.CHECKOUT / "tests" / "newcomer.sh").read_text(encoding="utf-8")
    commands = newcomer.partition("bash -euo pipefail -x -c '\n")[2].partition("\n' ||")[0].splitlines()[1:]
    assert 0 < len(commands) <= 5
    assert all(line.startswith(("aboard ", "cd ")) for line in commands)
