"""Which templates suit a board. The board's file and the templates decide; nothing here names a board."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from aboard.base import resources
from aboard.boards import cpu as cpus
from aboard.boards.board import Board
from aboard.errors import ProjectError, did_you_mean
from aboard.project import templates
from aboard.project.templates import Template


def fitting(board: Board) -> list[Template]:
    """Returns the templates whose projects work on a board.

    A template of a system that has its own names of boards (Zephyr, Arduino) is in the list if the board's file has the
    name.
    """
    ported = next(_driver_problems(board), None) is None
    able = (template for template in _every() if ported or template.drivers == "system")
    return [template for template in able if _is_for(template, board) and _is_named(template, board)]


def check(template: Template, board: Board) -> None:
    """Checks that a template suits a board.

    Raises:
        ProjectError: The template is for other boards, or Zephyr does not have the board, or the template needs drivers
            that the board's file does not name or that do not exist.
    """
    if template.runs_on not in (_kind(board), "any"):
        others = [other.name for other in _every() if _is_for(other, board)]
        raise ProjectError(
            f"template {template.name}: is not for the board, got {board.id}, a {_kind(board)}, expected a "
            f"{template.runs_on}. Use --template {' or '.join(others)}"
        )
    if not _has_core(template, board):
        raise ProjectError(
            f"template {template.name}: is not for the core, got {board.core().mcpu}, expected one of: "
            f'{", ".join(template.cores)}. Compile with --target "c -mcpu=<core>", or use --template cmake-lib'
        )
    if (board.is_core or board.is_soc) and not _needs_no_board(template):
        fitting = [other.name for other in _every() if _needs_no_board(other)]
        alone = f"the SoC {board.soc}" if board.is_soc else f"the core {board.core().mcpu}"
        raise ProjectError(
            f"template {template.name}: needs a board, got {alone} alone, expected memory and "
            f"drivers of a board. Name one with --board, or use --template {' or '.join(fitting)}"
        )
    if template.build == "zephyr" and board.zephyr is None:
        raise ProjectError(
            f"template {template.name}: Zephyr's name of {board.id} is unknown, got a board file without `zephyr`, "
            "expected one. Say --board zephyr:BOARD with a name that `west boards` lists, or add the key to the file"
        )
    problem = next(_driver_problems(board), None) if template.drivers == "board" else None
    if problem is not None:
        raise problem


def _every() -> tuple[Template, ...]:
    return _loaded(tuple((name, templates.modified_ns(name)) for name in templates.names()))


# The modification times are part of the cache key, so that a changed file is read again.
@functools.lru_cache(maxsize=4)
def _loaded(named: tuple[tuple[str, int], ...]) -> tuple[Template, ...]:
    return tuple(templates.load(name) for name, _ in named)


def _kind(board: Board) -> str:
    return "host" if board.is_host else "microcontroller"


def _has_core(template: Template, board: Board) -> bool:
    """True if the template's system compiles for the core of a board."""
    return not template.cores or cpus.find(board.core().mcpu).known_base in template.cores


def _needs_no_board(template: Template) -> bool:
    """True for templates of libraries, which the firmware of any board may call."""
    return not template.serves and template.drivers == "system" and template.runs_on != "host"


def _is_for(template: Template, board: Board) -> bool:
    return template.runs_on in (_kind(board), "any") and _has_core(template, board)


def _is_named(template: Template, board: Board) -> bool:
    """True if the system of a template has a name for a board, in a known release."""
    if template.system_name is None:
        return True
    known = template.system_name != "zephyr" or board.zephyr_since != "none"
    return known and getattr(board, template.system_name) is not None


def _driver_problems(board: Board) -> Iterator[ProjectError]:
    """Yields the reasons why there are no drivers for the serial port and the counter of a board."""
    lacking = [f"[counter] in the file of its SoC {board.soc}"] if board.counter is None else []
    if board.rpc is None and not board.is_host:
        lacking.append("[rpc] in its own file")
    if lacking:
        yield ProjectError(
            f"{board.target}: has no port yet, got a board without {' and '.join(lacking)}, expected "
            f"{'[counter]' if board.is_host else '[counter] and [rpc]'}. {_without_drivers(board)}; "
            "docs/how-to/adding_a_board.md says how to add a port"
        )
    if board.uart and board.uart.irq is None:
        yield ProjectError(
            f"{board.id}: its serial port has no interrupt, got no irq, expected the number of its receive interrupt. "
            "docs/how-to/adding_a_board.md says how to add it"
        )
    if board.uart and board.interrupts is None and cpus.find(board.core().mcpu).is_riscv:
        yield ProjectError(
            f"{board.target}: the interrupt controller of its core is unknown, got a RISC-V core without `interrupts`, "
            "expected a driver. docs/how-to/adding_a_board.md says how to add it"
        )
    parts = {"counter": board.counter, "uart": board.uart, "boot": board.boot, "interrupts": board.interrupts}
    for kind, driver in ((kind, part.driver) for kind, part in parts.items() if part is not None):
        folder = resources.firmware() / "ports" / kind
        known = [path.stem for path in folder.glob("*.c") if path.stem != "receive"]
        if driver not in known:
            yield ProjectError(
                f"{board.id}: no driver for its {kind}, got {driver}, expected a file in firmware/ports/{kind}. "
                f"{did_you_mean(driver, known)}"
            )


def _without_drivers(board: Board) -> str:
    """Returns what to do without drivers: the templates that need none."""
    systems = [template for template in _every() if template.drivers == "system"]
    able = [template for template in systems if _is_for(template, board) and _is_named(template, board)]
    images = " or ".join(template.name for template in able if template.serves)
    libraries = " or ".join(template.name for template in able if not template.serves)
    words = [f"Use --template {images}, which needs no port"] if images else []
    if libraries:
        words.append(f"{'for' if images else 'For'} a library that your firmware calls use --template {libraries}")
    return "; ".join(words) or "Models can be compiled for it"
