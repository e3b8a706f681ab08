"""`aboard new-target`: writes a package with a new kind of target."""

from __future__ import annotations

from pathlib import Path

import click

from aboard.cli.console import Console
from aboard.cli.options import example, force_option, output_dir_option, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_targets import NewTargetResult
from aboard.target import new_target


@click.command("new-target", epilog=example("aboard new-target my-npu", "aboard new-target my-npu -o ../my_npu --json"))
@click.argument("name", metavar="NAME")
@output_dir_option("NAME, with underscores")
@force_option
@output_options
@pass_console
def command(console: Console, name: str, output_dir: Path | None, force: bool) -> None:
    """Write a package with the new kind of target NAME, and tests that pass.

    The device computes int8 fully connected layers with its own C code. The command that is printed installs the
    package and runs its tests; then change it step by step (docs/how-to/adding_a_device.md).
    """
    folder = output_dir or Path(name.replace("-", "_"))
    files = new_target.write(name, folder, force=force)
    result = NewTargetResult(name=name, path=str(folder), files=files, next=new_target.next_command(folder))
    console.emit(result, lambda: _report(result))


def _report(result: NewTargetResult) -> str:
    lines = [f"Package in {result.path}", "", *(f"  {path}" for path in result.files), ""]
    lines.append(f"Next: {result.next}")
    return "\n".join(lines)
