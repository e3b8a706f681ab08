"""`aboard doctor`: lists the installed tools, and how to install the others."""

from __future__ import annotations

from dataclasses import asdict

import click

from aboard import runners
from aboard.base import platforms
from aboard.base.extensions import Extension
from aboard.base.table import table
from aboard.base.wrapping import paragraph
from aboard.cli.console import Console
from aboard.cli.extensions import cores_and_kernels
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_doctor import DoctorResult, ToolInfo
from aboard.device import doctor
from aboard.device.doctor import Kind

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
    tools = [*(ToolInfo.model_validate(asdict(check)) for check in checks), *_left_out()]
    result = DoctorResult(
        ready=not missing, missing=missing, system=platforms.described(), tools=tools, serial_ports=_serial_ports()
    )
    console.emit(result, lambda: _report(result))
    return 0 if result.ready else _NOT_READY


def _left_out() -> list[ToolInfo]:
    """Returns the runners, cores and kernels of other packages that could not be loaded."""
    found: list[tuple[Kind, str, Extension]] = [("emulator", "runner", each) for each in runners.from_packages()]
    found += [("package", group.rpartition(".")[2], each) for group, each in cores_and_kernels()]
    return [
        ToolInfo(
            name=extension.name,
            kind=kind,
            purpose=f"{what} of {extension.source}",
            found=False,
            version=None,
            path=None,
            how_to_get="repair or remove it",
            problem=extension.problem,
            need="optional",
        )
        for kind, what, extension in found
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
