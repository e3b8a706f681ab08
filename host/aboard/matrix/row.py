"""One row of the table: a model is built for a board on one worker, and compared with the reference on another."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aboard.api import Session, create
from aboard.base.scratch import Scratch
from aboard.base.version import VERSION
from aboard.check import border, verify
from aboard.check.reference import Reference
from aboard.compiler.pipeline import compile_model
from aboard.device.input_files import Named
from aboard.device.tensor_io import Values
from aboard.device.timing import RunResult
from aboard.errors import (
    AboardError,
    BoardError,
    CapacityError,
    ModelError,
    PassError,
    ProjectError,
    TargetError,
    VerifyError,
)
from aboard.farm import jobs, shipping, station
from aboard.farm.jobs import Failure
from aboard.farm.submission import Step, Ticket

#: `exact`: no byte differs. `different`: one does. `refused`: aboard does not compile the model for the board, or it
#: does not fit. `failed`: there is no result.
State = Literal["exact", "different", "refused", "failed"]

#: The optimisation goal of a row for which none is named: the target's own.
DEFAULT = "default"

_REFUSALS = (CapacityError, ModelError, TargetError, BoardError, PassError, ProjectError, VerifyError)
_REFUSED = frozenset(kind.__name__ for kind in _REFUSALS)


@dataclass(frozen=True)
class RowSpec:
    """What a row is about.

    Attributes:
        model: The model, as the user named it.
        file: Name of its file.
        content: The bytes of the file.
        board: Hardware key.
        opt: `size`, `balanced` or `speed`; None for the target's own.
        samples: Number of random inputs.
        toolchain: Name of the toolchain; None to choose by rule.
    """

    model: str
    file: str
    content: bytes
    board: str
    opt: str | None
    samples: int
    toolchain: str | None

    @property
    def key(self) -> str:
        """Identity of the result: all that it depends on, and what people read first."""
        digest = hashlib.sha256(self.content).hexdigest()[:12]
        opt = self.opt or DEFAULT
        return json.dumps([self.model, self.board, opt, digest, self.samples, self.toolchain, VERSION])


@dataclass(frozen=True)
class Row:
    """The result of a row.

    Attributes:
        model: The model, as the user named it.
        board: Hardware key.
        opt: The optimisation goal; `default` for the target's own.
        state: What became of it.
        message: Why it is not exact; empty if it is.
        samples: Number of compared inputs.
        differing_bytes: Bytes that differ over all samples.
        runner: Name of the runner.
        instructions: Instructions of a run; None unless the runner counts them.
        seconds: Time of a run, on a board.
        ram_bytes: RAM of the model.
        flash_bytes: Flash of the model.
    """

    model: str
    board: str
    opt: str
    state: State
    message: str = ""
    samples: int | None = None
    differing_bytes: int | None = None
    runner: str | None = None
    instructions: int | None = None
    seconds: float | None = None
    ram_bytes: int | None = None
    flash_bytes: int | None = None


@dataclass(frozen=True)
class Answers:
    """What a reference computed before, in the order of the inputs; `verify.compare` takes it as the reference.

    Attributes:
        outputs: For each input, the outputs by name.
        tolerances: For each input, how much each output may differ.
    """

    outputs: Sequence[Mapping[str, Values]]
    tolerances: Sequence[Mapping[str, float]]


class Replay:
    """Gives recorded answers one after another."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._next = 0

    def reset(self) -> None:
        """Begins with the first answer again."""
        self._next = 0

    def run(self, inputs: Mapping[str, Values]) -> dict[str, Values]:
        """Returns the next answer."""
        del inputs
        self._next += 1
        return dict(self._answers.outputs[self._next - 1])

    def allowed(self, values: Values, name: str) -> float:
        """Returns the tolerance of an output of the last answer."""
        del values
        return self._answers.tolerances[self._next - 1][name]


@dataclass(frozen=True)
class Built:
    """A built row.

    Attributes:
        packed: The project, as `shipping.pack` returns it.
        inputs: The inputs to compare.
        answers: What the reference says of them.
        ram_bytes: RAM of the model.
        flash_bytes: Flash of the model.
    """

    packed: bytes
    inputs: Sequence[Named]
    answers: Answers
    ram_bytes: int
    flash_bytes: int


def ticket(spec: RowSpec, holder: str) -> Ticket:
    """Returns the job of a row: the build, and the check on a board."""
    return Ticket(
        spec.key,
        [Step(built, (spec,), jobs.BUILD), Step(checked, (spec, holder), spec.board)],
    )


def built(spec: RowSpec) -> Built | Failure:
    """Compiles and builds a model, and asks the reference for the outputs."""
    try:
        with Scratch() as folder:
            file = folder / spec.file
            file.write_bytes(spec.content)
            module = compile_model(file, board=spec.board, opt=spec.opt)
            project = create([module], spec.board, path=folder / "project")
            made = project.build(spec.toolchain)
            reference = border.fitted(Reference.open(file), module.manifest)
            inputs = verify.samples(module.manifest, spec.samples)
            answers = _answers(reference, inputs)
            packed = shipping.pack(project)
    except AboardError as error:
        return Failure.of(error)
    return Built(packed, inputs, answers, module.manifest.ram_bytes, made.sizes.model_flash_bytes)


def checked(spec: RowSpec, holder: str, made: Built | Failure) -> Row | Failure:
    """Compares a board with the reference; the board is that of the worker."""
    if isinstance(made, Failure):
        return made
    found = jobs.on_board(functools.partial(_compare, made), made.packed, f"{holder}: {spec.model}")
    if isinstance(found, Failure):
        return found
    differing, run = found
    return Row(
        model=spec.model,
        board=spec.board,
        opt=spec.opt or DEFAULT,
        state="different" if differing else "exact",
        message=f"{differing} bytes differ. Look for the first with `aboard verify`" if differing else "",
        samples=len(made.inputs),
        differing_bytes=differing,
        runner=station.current().running,
        instructions=run.instructions,
        seconds=None if run.microseconds is None else run.microseconds / 1e6,
        ram_bytes=made.ram_bytes,
        flash_bytes=made.flash_bytes,
    )


def row_of(spec: RowSpec, result: Row | Failure) -> Row:
    """Returns the row for the result of its job."""
    if isinstance(result, Row):
        return result
    state: State = "refused" if result.kind in _REFUSED else "failed"
    return Row(spec.model, spec.board, spec.opt or DEFAULT, state, result.message)


def _answers(reference: Reference, inputs: Sequence[Named]) -> Answers:
    reference.reset()
    outputs = [reference.run(feed) for feed in inputs]
    tolerances = [{name: reference.allowed(values, name) for name, values in one.items()} for one in outputs]
    return Answers(outputs, tolerances)


def _compare(made: Built, session: Session) -> tuple[int, RunResult]:
    """Returns the number of differing bytes, and a run of the first input."""
    found = verify.compare(session, Replay(made.answers), made.inputs)
    session.reset_state()
    return found.differing_bytes, session.infer(made.inputs[0])
