"""`aboard doctor`: which tools are here, and how to get the rest."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict

import click

from aboard import doctor, runners
from aboard.cli.console import Console
from aboard.cli.options import example, json_option, pass_console
from aboard.cli.schema import DoctorResult, ToolInfo
from aboard.reports.table import table

#: Packages of the compile path and of the reference, beside the tools that `aboard.doctor` looks for.
_PACKAGES = (
    ("tflite", "reads models", "pip install aboard"),
    ("cffi", "-runtime=host", "pip install aboard"),
    ("tflite_micro", "reference of `aboard verify`", "pip install 'aboard[oracle]'; without it numpy serves"),
)


@click.command("doctor", epilog=example("aboard doctor", "aboard doctor --json"))
@json_option
@pass_console
def command(console: Console) -> None:
    """Tell which compilers, emulators and probes are here, and how to get what is missing."""
    with console.step("looking for tools"):
        found = (ToolInfo.model_validate(asdict(check)) for check in doctor.inspect())
        tools = [*found, *_runners_left_out(), *_packages()]
    result = DoctorResult(ready=is_ready(tools), tools=tools, serial_ports=_serial_ports())
    console.emit(result, lambda: _report(result))


def is_ready(tools: Sequence[ToolInfo]) -> bool:
    """True when these tools compile, build and run a model on an emulated Cortex-M board."""
    found = {tool.name for tool in tools if tool.found}
    compiler = found & {"arm-none-eabi-gcc", "zig"}
    emulator = found & {"qemu-system-arm", "unicorn"}
    return bool(compiler) and bool(emulator) and {"cmake", "ninja", "tflite"} <= found


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
        )
        for extension in runners.from_packages()
        if extension.problem
    ]


def _packages() -> list[ToolInfo]:
    found = []
    for name, purpose, hint in _PACKAGES:
        spec = importlib.util.find_spec(name)
        path = spec.origin if spec else None
        found.append(
            ToolInfo(
                name=name,
                kind="package",
                purpose=purpose,
                found=spec is not None,
                version=None,
                path=path,
                how_to_get=hint,
                problem=None,
            )
        )
    return found


def _serial_ports() -> list[str]:
    from serial.tools import list_ports

    return sorted(f"{port.device}: {port.description}" for port in list_ports.comports() if port.hwid != "n/a")


def _report(result: DoctorResult) -> str:
    rows = [(t.kind, t.name, ("found" if t.found else "missing"), t.version, t.purpose) for t in result.tools]
    missing = [tool for tool in result.tools if not tool.found]
    lines = [table(("kind", "tool", "here", "version", "for"), rows), ""]
    if missing:
        lines += ["How to get what is missing:", *(f"  {t.name}: {t.problem or t.how_to_get}" for t in missing), ""]
    lines.append(f"Serial ports: {', '.join(result.serial_ports) or 'none with anything attached'}")
    lines.append(
        "Ready: a model can be compiled, built and run on an emulated board."
        if result.ready
        else "Not ready: a compiler, an emulator or a build tool is missing."
    )
    return "\n".join(lines)
