"""Instances: functions of specialised kernels that steps share, and constants that steps share.

An instance is a function that specialises a kernel for its literal parameters. Steps with equal parameters (layers of
one shape) call the same instance; tables of rows in blocks, which no two steps share, are arguments then. With
`-opt=size`, one instance may serve different parameters of a kernel function and read them at run time, if this is
smaller; it is slower.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aboard.emit import c_text
from aboard.emit.initial import initial_values
from aboard.ir import Array
from aboard.kernels.contract import (
    Argument,
    Call,
    ConstantArg,
    FunctionCall,
    InputArg,
    KernelCall,
    OutputArg,
    PackedConstant,
)
from aboard.kernels.select import code_size
from aboard.kernels.view import TABLE, Literal
from aboard.schedule.lowering import Program, Step
from aboard.target import Target


@dataclass
class Instance:
    """A function in the generated source.

    Attributes:
        name: Name of the function.
        call: One of the calls that it serves.
        steps: Steps that call it.
        parameters: True if parameters are passed at run time.
    """

    name: str
    call: KernelCall
    steps: list[Step] = field(default_factory=list)
    parameters: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the arguments for tables of rows, if steps have different ones; else empty."""
        names = [tables_of(step.call) for step in self.steps]
        if self.parameters or all(each == names[0] for each in names):
            return ()
        return tuple(f"rows_{index}" for index in range(len(names[0])))

    @property
    def params(self) -> Mapping[str, Literal]:
        """The parameters, with the arguments for tables."""
        names = dict(zip(tables_of(self.call), self.tables, strict=False))
        return {name: _renamed(value, names) for name, value in self.call.params.items()}

    @property
    def standalone(self) -> bool:
        """True if only standalone steps call it (`Program.standalone`)."""
        return all(step.standalone for step in self.steps)


@dataclass(frozen=True)
class NamedArray:
    """A constant array in the generated source."""

    name: str
    values: Array
    align: int
    in_ram: bool = False


class Instances:
    """The instances and constants of a program.

    Attributes:
        instances: The instances in the order of first use.
        arrays: The constant arrays; equal contents appear once.
        code_in_ram: True if the start-up code copies the instances to RAM.
    """

    def __init__(self, program: Program, target: Target, *, standalone: bool = True, code_in_ram: bool = False) -> None:
        """Finds the instances and constants.

        Args:
            program: A schedule.
            target: The target of the code.
            standalone: True to emit standalone steps of cascades too (`Program.standalone`).
            code_in_ram: True if the start-up code copies the instances to RAM.
        """
        self.code_in_ram = code_in_ram
        self.instances: list[Instance] = []
        self.arrays: list[NamedArray] = []
        self._by_step: dict[tuple[int, bool], Instance] = {}
        self._array_names: dict[tuple[str, bytes, bool], str] = {}
        self._names_of_step: dict[tuple[int, bool], list[str]] = {}
        self._sharing = _shared_functions(program, target)
        by_key: dict[str, Instance] = {}
        for step in (*program.steps, *(program.standalone.values() if standalone else ())):
            self._names_of_step[step.index, step.standalone] = [
                self._add(program, step, argument) for argument in step.call.arguments
            ]
            if isinstance(step.call, FunctionCall):
                continue
            key = self._key(step.call)
            if key not in by_key:
                name = f"k{len(self.instances)}_{step.call.function.removeprefix('aboard_')}"
                shared = step.call.compared(step.call.function_key) in self._sharing
                by_key[key] = Instance(name, step.call, parameters=shared)
                self.instances.append(by_key[key])
            by_key[key].steps.append(step)
            self._by_step[step.index, step.standalone] = by_key[key]
        self.arrays += [NamedArray(name, values, 4) for name, values in initial_values(program.graph).items()]

    def _key(self, call: KernelCall) -> str:
        key = call.compared(call.function_key)
        return key if key in self._sharing else call.compared(f"{call.function_key}|{c_text.literal(call.params)}")

    def _add(self, program: Program, step: Step, argument: Argument) -> str:
        """Returns the name of the array of an argument; "" for an argument in the arena."""
        prefix = f"{program.graph.name}_{step.index}{'_standalone' if step.standalone else ''}"
        if isinstance(argument, ConstantArg):
            return self._array(f"{prefix}_{argument.constant.name}", argument.constant)
        if isinstance(argument, InputArg):
            data = step.node.input(argument.index).data
            if data is not None:
                return self._array(f"{prefix}_operand_{argument.index}", PackedConstant("operand", data))
        return ""

    def _array(self, name: str, constant: PackedConstant) -> str:
        key = (str(constant.values.dtype), constant.values.tobytes(), constant.in_ram)
        if key not in self._array_names:
            self._array_names[key] = name
            self.arrays.append(NamedArray(name, constant.values, constant.align, constant.in_ram))
        return self._array_names[key]

    def of(self, step: Step) -> Instance:
        """Returns the instance that a step calls; a step of an accelerator has none."""
        return self._by_step[step.index, step.standalone]

    def arrays_of(self, step: Step) -> list[str]:
        """Returns, for each argument of a step's call, the name of its constant array, or ""."""
        return self._names_of_step[step.index, step.standalone]

    @property
    def constants_bytes(self) -> int:
        """Bytes of all constant arrays."""
        return sum(array.values.nbytes for array in self.arrays)

    @property
    def ram_constants_bytes(self) -> int:
        """Bytes of the constant arrays that the start-up code copies to RAM."""
        return sum(array.values.nbytes for array in self.arrays if array.in_ram)


def _shared_functions(program: Program, target: Target) -> set[str]:
    """Returns the keys of the functions with one instance for several sets of parameters."""
    seen: dict[str, dict[str, KernelCall]] = {}
    rolling = {node for window in program.assignment.rolling for node in window.calls}
    for step in (*program.steps, *(step for step in program.standalone.values() if step.node not in rolling)):
        if isinstance(step.call, KernelCall):
            key = step.call.compared(step.call.function_key)
            seen.setdefault(key, {})[step.call.compared(c_text.literal(step.call.params))] = step.call
    return {key for key, calls in seen.items() if _is_shared(list(calls.values()), target)}


def _is_shared(calls: list[KernelCall], target: Target) -> bool:
    return calls[0].reads_parameters or code_size.shares(calls, target)


def tables_of(call: Call) -> list[str]:
    """Returns the tables of rows that a call's parameters name, each once, in order."""
    return list(dict.fromkeys(TABLE.findall(c_text.literal(call.params)))) if isinstance(call, KernelCall) else []


def _renamed(value: Literal, names: Mapping[str, str]) -> Literal:
    if isinstance(value, str):
        return names.get(value, value)
    return {key: _renamed(each, names) for key, each in value.items()} if isinstance(value, Mapping) else value


def argument_type(argument: Argument) -> str:
    """Returns the C type of a function's parameter."""
    if isinstance(argument, ConstantArg):
        return f"const {c_text.c_type(argument.constant.values.dtype)} *"
    return argument.ctype if argument.ctype.endswith("*") else f"{argument.ctype} "


def argument_names(call: Call) -> list[str]:
    """Returns the names of a function's parameters, in order."""
    names: list[str] = []
    scratch = 0
    for argument in call.arguments:
        if isinstance(argument, InputArg):
            names.append(f"x{argument.index}")
        elif isinstance(argument, OutputArg):
            names.append(f"y{argument.index}")
        elif isinstance(argument, ConstantArg):
            names.append(argument.constant.name)
        else:
            names.append(f"s{scratch}")
            scratch += 1
    return names
