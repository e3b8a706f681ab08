"""`aboard npu`: looks into what Vela made."""

from __future__ import annotations

from pathlib import Path

import click
from pydantic import Field

from aboard.base.wrapping import paragraph
from aboard.cli.console import Console
from aboard.cli.options import example, pass_console
from aboard.cli.output_options import output_options
from aboard.cli.schema_result import Result


class CommandInfo(Result):
    """A command of a stream."""

    word: int = Field(description="Number of its first word in the stream.")
    name: str = Field(description="Name of the command, or of the register that it sets.")
    value: int = Field(description="Its parameter: 16 bits, or 48 bits with a payload.")
    meaning: str | None = Field(description="Meaning of the value; null if the value says everything.")


class StreamInfo(Result):
    """A command stream."""

    name: str = Field(description="Name of its array in the bundle, or of the operator in the file.")
    pointers: dict[int, str] = Field(description="What the base pointers point to, as far as known.")
    commands: list[CommandInfo]


class DumpResult(Result):
    """`aboard npu dump`."""

    path: str = Field(description="The file or the folder.")
    streams: list[StreamInfo]


@click.group("npu", epilog=example("aboard npu dump build/digits"))
def command() -> None:
    """Look into command streams for the Ethos-U55, which Vela made."""


@command.command("dump", epilog=example("aboard npu dump build/digits", "aboard npu dump digits_vela.tflite --json"))
@click.argument("file", metavar="FILE_OR_BUNDLE", type=click.Path(path_type=Path))
@output_options
@pass_console
def _dump(console: Console, file: Path) -> None:
    """Print the commands of the streams in a file that Vela compiled, or in a bundle for the NPU.

    A line has the number of the first word, the command or the register that it sets, its value, and what it means.
    """
    from aboard_ethos_u import listing, registers

    result = DumpResult(
        path=str(file),
        streams=[
            StreamInfo(
                name=stream.name,
                pointers=dict(stream.pointers),
                commands=[
                    CommandInfo(
                        word=word,
                        name=registers.name(each),
                        value=registers.value(each),
                        meaning=registers.meaning(each, stream.pointers) or None,
                    )
                    for word, each in stream.commands
                ],
            )
            for stream in listing.streams(file)
        ],
    )
    console.emit(result, lambda: "\n\n".join(map(_report, result.streams)))


def _report(stream: StreamInfo) -> str:
    pointers = ", ".join(f"{number} {what}" for number, what in sorted(stream.pointers.items()))
    head = f"{stream.name}: {len(stream.commands)} commands" + (f"; base pointers {pointers}" if pointers else "")
    return "\n".join([paragraph(head), "", *map(_line, stream.commands)])


def _line(each: CommandInfo) -> str:
    return f"{each.word:6}  {each.name:<15}  {each.value:>10}  {each.meaning or ''}".rstrip()
