"""How generated C names the memory of a model: one arena, called `arena`, or one for each region, and `state`."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.base import quoting
from aboard.ir import Tensor
from aboard.memory.arenas import Layout
from aboard.schedule.lowering import Program, Step
from aboard.schedule.rolling import RollingWindow


@dataclass(frozen=True)
class Arenas:
    """The arenas of a model and its state block, in C.

    Attributes:
        name: The model.
        layout: Addresses of its buffers.
        hooks: True if the code calls hooks and can run a single node (`aboard/hooks.h`).
    """

    name: str
    layout: Layout
    hooks: bool = True

    @property
    def hooks_parameter(self) -> str:
        """The last parameter of functions that call hooks; "" without hooks."""
        return ", const aboard_hooks_t *hooks" if self.hooks else ""

    @property
    def hooks_argument(self) -> str:
        """The last argument for such a function."""
        return ", hooks" if self.hooks else ""

    @property
    def count(self) -> int:
        """Number of arenas."""
        return len(self.layout.peaks)

    @property
    def has_state_block(self) -> bool:
        """True for a model whose state is in memory of its own: it comes after the arenas."""
        return self.layout.state is not None and self.layout.state.apart

    @property
    def several(self) -> bool:
        """True when a run takes more than one pointer."""
        return self.count + self.has_state_block > 1

    @property
    def pointers(self) -> list[str]:
        """For each arena, then for the state block, the variable that points at it."""
        arenas = [f"{region}_arena" for region in self.layout.regions] if self.count > 1 else ["arena"]
        return [*arenas, "state"] if self.has_state_block else arenas

    @property
    def arena_macros(self) -> list[str]:
        """For each arena, the macro with its size."""
        prefix = self.name.upper()
        if self.count == 1:
            return [f"{prefix}_ARENA_BYTES"]
        return [f"{prefix}_{region.upper()}_ARENA_BYTES" for region in self.layout.regions]

    @property
    def macros(self) -> list[str]:
        """For each pointer, the macro with the size of its memory."""
        return [*self.arena_macros, self.state_macro] if self.has_state_block else self.arena_macros

    @property
    def state_macro(self) -> str:
        """The macro with the size of the state block."""
        return f"{self.name.upper()}_STATE_BYTES"

    @property
    def parameters(self) -> str:
        """Parameters of the run function."""
        return ", ".join(f"void *{pointer}, size_t {pointer}_bytes" for pointer in self.pointers)

    def pointer_of(self, tensor: Tensor, program: Program) -> str:
        """Returns the variable that points to the arena of a tensor."""
        return self.pointers[home(tensor, program, self.layout)]

    def address(self, arena: int, offset: int | str) -> str:
        """Returns an expression for the address of a byte."""
        return f"IN({self.pointers[arena]}, {offset})" if self.several else f"AT({offset})"

    def of_tensor(self, tensor: Tensor, program: Program) -> str:
        """Returns an expression for the address of a tensor's first element.

        For new rows of a rolling window, the address depends on the position of the run.
        """
        at = offset(tensor, program, self.layout)
        window = program.assignment.fresh_window(tensor)
        if window is None:
            return self.address(home(tensor, program, self.layout), at)
        block = window.fresh_rows * window.row_bytes
        first = at - (window.height - window.fresh_rows) * window.row_bytes
        moving = f"{first} + {block} * {fresh_variable(window, program)}"
        return self.address(home(tensor, program, self.layout), moving)

    def of_scratch(self, step: Step, number: int) -> str:
        """Returns an expression for the address of a scratch buffer of a step."""
        index = step.scratch[number]
        return self.address(self.layout.homes[index], self.layout.offsets[index])

    def checked(self, only: int | None = None) -> list[str]:
        """Returns lines that take pointers from `memory`, an `aboard_memory_t` for each, and check them.

        Args:
            only: Number of the pointer; None for all.
        """
        wanted = [n for n in range(len(self.pointers)) if only in (None, n)]
        lines = [f"    uint8_t *const {self.pointers[n]} = memory[{n}].data;" for n in wanted]
        for number in wanted:
            pointer, macro = self.pointers[number], self.macros[number]
            lines += [
                f"    if ({pointer} == NULL) {{",
                "        return ABOARD_ERROR_NULL;",
                "    }",
                f"    if (memory[{number}].bytes < {macro}) {{",
                "        return ABOARD_ERROR_ARENA_TOO_SMALL;",
                "    }",
                f"    if ((uintptr_t){pointer} % ABOARD_ARENA_ALIGN != 0) {{",
                "        return ABOARD_ERROR_ARENA_MISALIGNED;",
                "    }",
            ]
        return lines

    def macro(self) -> str:
        """Returns the macros of `address`, and of the addresses in the workspace of a single node."""
        lines = ["/* Address of a byte of the arena. */", "#define AT(offset) ((void *)(arena + (offset)))", ""]
        if self.several:
            lines += [
                "/* Address of a byte of an arena. */",
                "#define IN(arena, offset) ((void *)((arena) + (offset)))",
                "",
            ]
        return "\n".join(lines)

    def prologue(self) -> list[str]:
        """Returns the first lines of the function that runs the model. They check its arguments."""
        if self.several:
            return self._prologue_of_several()
        return [
            f"static ABOARD_NOINLINE aboard_status_t run(void *memory, size_t bytes{self.hooks_parameter}) {{",
            "    uint8_t *const arena = memory;",
            *self.unused_hooks(),
            "    if (arena == NULL) {",
            "        return ABOARD_ERROR_NULL;",
            "    }",
            f"    if (bytes < {self.macros[0]}) {{",
            "        return ABOARD_ERROR_ARENA_TOO_SMALL;",
            "    }",
            "    if ((uintptr_t)memory % ABOARD_ARENA_ALIGN != 0) {",
            "        return ABOARD_ERROR_ARENA_MISALIGNED;",
            "    }",
        ]

    def _prologue_of_several(self) -> list[str]:
        taken, checks = self.checked()[: len(self.pointers)], self.checked()[len(self.pointers) :]
        head = f"static ABOARD_NOINLINE aboard_status_t run(const aboard_memory_t *memory{self.hooks_parameter}) {{"
        return [head, *taken, *self.unused_hooks(), *checks]

    def unused_hooks(self) -> list[str]:
        """Returns the statements for parameters that a function need not use: the hooks, and the state block."""
        return ["    (void)hooks;"] * self.hooks + ["    (void)state;"] * self.has_state_block

    def entry(self) -> list[str]:
        """Returns the definitions of the model's run function and of the function in its descriptor.

        Code that serves any model calls the latter. Without hooks it calls the run function, so a breakpoint there
        stops every run.
        """
        head = f"ABOARD_NOINLINE aboard_status_t {self.name}_run({self.parameters}) {{"
        none = ", NULL" if self.hooks else ""
        if not self.several:
            given, passed = "void *memory, size_t bytes", "memory, bytes"
            own = [f"{head} return run(arena, arena_bytes{none}); }}"]
        else:
            given = "const aboard_memory_t *memory"
            passed = ", ".join(f"memory[{n}].data, memory[{n}].bytes" for n in range(len(self.pointers)))
            pairs = ", ".join(f"{{{pointer}, {pointer}_bytes}}" for pointer in self.pointers)
            own = [head, f"    const aboard_memory_t memory[] = {{{pairs}}};", f"    return run(memory{none});", "}"]
        hooked = "memory, hooks" if self.several else "memory, bytes, hooks"
        body = [f"    return hooks == NULL ? {self.name}_run({passed}) : run({hooked});"]
        if not self.hooks:
            body = ["    (void)hooks;", f"    return {self.name}_run({passed});"]
        return [*own, "", f"static aboard_status_t serve({given}, const aboard_hooks_t *hooks) {{", *body, "}"]

    def table(self) -> list[str]:
        """Returns the table of arenas that the model's descriptor refers to; empty for one arena."""
        if self.count == 1:
            return []
        rows = [
            f"{{.region = {quoting.c_string(region)}, .bytes = {macro}}}"
            for region, macro in zip(self.layout.regions, self.arena_macros, strict=True)
        ]
        return [f"static const aboard_arena_t arenas[] = {{{', '.join(rows)}}};\n"]

    def descriptor(self) -> list[str]:
        """Returns the fields of the descriptor with the function that runs the model."""
        if not self.several:
            return ["    .run = serve,"]
        arenas = [f"    .arena_count = {self.count},", "    .arenas = arenas,"] if self.count > 1 else []
        return [*arenas, "    .run_in = serve,"]

    @property
    def total(self) -> str:
        """An expression for the bytes of all arenas."""
        return " + ".join(self.arena_macros)


def position_variable(window: RollingWindow, program: Program) -> str:
    """Returns the C variable with the position of a rolling window."""
    return f"position_{program.assignment.position_counts.index(window.positions)}"


def fresh_variable(window: RollingWindow, program: Program) -> str:
    """Returns the C variable with the position of the new rows of a rolling window: that of the run before."""
    return f"fresh_{program.assignment.position_counts.index(window.positions)}"


def home(tensor: Tensor, program: Program, layout: Layout) -> int:
    """Returns the number of the memory that stores a tensor: of an arena, or behind them that of the state block."""
    buffer = program.assignment.locations[tensor].buffer
    if layout.state is not None and buffer in program.state_offsets:
        return layout.state.home
    return layout.homes[program.buffers[buffer]]


def offset(tensor: Tensor, program: Program, layout: Layout) -> int:
    """Returns the offset of element 0 of a tensor in its memory."""
    location = program.assignment.locations[tensor]
    if layout.state is not None and location.buffer in program.state_offsets:
        return layout.state.start + program.state_offsets[location.buffer] + location.view.offset
    return layout.offsets[program.buffers[location.buffer]] + location.view.offset
