"""The names of a model's arenas in generated C: one, called `arena`, or one for each memory region."""

from __future__ import annotations

from dataclasses import dataclass

from aboard.base import quoting
from aboard.ir import Tensor
from aboard.memory.arenas import Layout
from aboard.schedule.lowering import Program, Step


@dataclass(frozen=True)
class Arenas:
    """The arenas of a model, in C.

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
    def several(self) -> bool:
        """True if there is more than one arena."""
        return len(self.layout.peaks) > 1

    @property
    def pointers(self) -> list[str]:
        """For each arena, the variable that points to it."""
        return [f"{region}_arena" for region in self.layout.regions] if self.several else ["arena"]

    @property
    def macros(self) -> list[str]:
        """For each arena, the macro of its size."""
        prefix = self.name.upper()
        if not self.several:
            return [f"{prefix}_ARENA_BYTES"]
        return [f"{prefix}_{region.upper()}_ARENA_BYTES" for region in self.layout.regions]

    @property
    def parameters(self) -> str:
        """Parameters of the run function."""
        return ", ".join(f"void *{pointer}, size_t {pointer}_bytes" for pointer in self.pointers)

    def pointer_of(self, tensor: Tensor, program: Program) -> str:
        """Returns the variable that points to the arena of a tensor."""
        return self.pointers[home(tensor, program, self.layout)]

    def address(self, arena: int, offset: int) -> str:
        """Returns an expression for the address of a byte."""
        return f"IN({self.pointers[arena]}, {offset})" if self.several else f"AT({offset})"

    def of_tensor(self, tensor: Tensor, program: Program) -> str:
        """Returns an expression for the address of a tensor's first element."""
        return self.address(home(tensor, program, self.layout), offset(tensor, program, self.layout))

    def of_scratch(self, step: Step, number: int) -> str:
        """Returns an expression for the address of a scratch buffer of a step."""
        index = step.scratch[number]
        return self.address(self.layout.homes[index], self.layout.offsets[index])

    def checked(self) -> list[str]:
        """Returns the lines that read the arenas from `memory`, an `aboard_memory_t` for each, and check them."""
        lines = [f"    uint8_t *const {pointer} = memory[{n}].data;" for n, pointer in enumerate(self.pointers)]
        for number, (pointer, macro) in enumerate(zip(self.pointers, self.macros, strict=True)):
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
        """Returns the statement for builds in which no macro uses the parameter of the hooks."""
        return ["    (void)hooks;"] if self.hooks else []

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
        if not self.several:
            return []
        rows = [
            f"{{.region = {quoting.c_string(region)}, .bytes = {macro}}}"
            for region, macro in zip(self.layout.regions, self.macros, strict=True)
        ]
        return [f"static const aboard_arena_t arenas[] = {{{', '.join(rows)}}};\n"]

    def descriptor(self) -> list[str]:
        """Returns the fields of the descriptor with the function that runs the model."""
        if not self.several:
            return ["    .run = serve,"]
        return [f"    .arena_count = {len(self.pointers)},", "    .arenas = arenas,", "    .run_in = serve,"]

    @property
    def total(self) -> str:
        """An expression for the bytes of all arenas."""
        return " + ".join(self.macros)


def home(tensor: Tensor, program: Program, layout: Layout) -> int:
    """Returns the number of the arena that stores a tensor."""
    return layout.homes[program.buffers[program.assignment.locations[tensor].buffer]]


def offset(tensor: Tensor, program: Program, layout: Layout) -> int:
    """Returns the offset of element 0 of a tensor in its arena."""
    location = program.assignment.locations[tensor]
    return layout.offsets[program.buffers[location.buffer]] + location.view.offset
