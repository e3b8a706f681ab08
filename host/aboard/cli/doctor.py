"""`aboard doctor`: lists the installed tools, and how to install the others."""

from __future__ import annotations

from dataclasses import asdict

import click

from aboard import runners
from aboard.base import platforms
from aboard.base.table import table
from aboard.base.wrapping import paragraph
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_doctor import DoctorResult, ToolInfo
from aboard.device import doctor

_NOT_READY = 1
_HERE = {True: "found", False: "missing"}
_NEED = {"needed": "yes", "one": "one of these", "optional": "no"}


@click.command("doctor", epilog=example("aboard doctor", "aboard doctor --json"))
@output_options
@pass_console
def command(console: Console) -> int:
    """List the compilers, emulators and probes on this machine, and how to install missing ones.

    Exits with 1 if a needed tool is missing. A tool is needed if aboard cannot compile a model, build it and run it on
    an emulated board without it. Tools for some boards only are optional.
    """
    with console.step("looking for tools"):
        checks = doctor.inspect()
    missing = doctor.missing(checks)
    tools = [*(ToolInfo.model_validate(asdict(check)) for check in checks), *_runners_left_out()]
    result = DoctorResult(
        ready=not missing, missing=missing, system=platforms.described(), tools=tools, serial_ports=_serial_ports()
    )
    console.emit(result, lambda: _report(result))
    return 0 if result.ready else _NOT_READY


def _runners_left_out() -> list[ToolInfo]:
    """Returns the runners of other packages that could not be loaded."""
    return [
        ToolInfo(
            name=extension.name,
            kind="emulator",
            purpose=f"runner of {extension.source}",
            found=False,
            version=None,
            path=None,
            how_to_get="repair or remove it",
            problem=extension.problem,
            need="optional",
        )
        for extension in runners.from_packages()
        if extension.problem
    ]


def _serial_ports() -> list[str]:
    from serial.tools import list_ports

    return sorted(f"{port.device}: {port.description}" for port in list_ports.comports() if port.hwid != "n/a")


def _report(result: DoctorResult) -> str:
    rows = [(t.kind, t.name, _HERE[t.found], _NEED[t.need], t.version, t.purpose) for t in result.tools]
    absent = [tool for tool in result.tools if not tool.found]
    lines = [table(("kind", "tool", "here", "needed", "version", "for"), rows), ""]
    if absent:
        advice = (paragraph(f"  {tool.name}: {tool.problem or tool.how_to_get}", " " * 4) for tool in absent)
        lines += ["How to get what is missing:", *advice, ""]
    lines.append(f"System: {result.system}")
    lines.append(paragraph(f"Serial ports: {', '.join(result.serial_ports) or 'none with anything attached'}"))
    lines.append(
        "Ready: a model can be compiled, built and run on an emulated board."
        if result.ready
        else paragraph(f"Not ready, missing: {'; '.join(result.missing)}.")
    )
    return "\n".join(lines)
