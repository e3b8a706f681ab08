"""The command lines whose output is kept in tests/snapshots/commands.

A session is a list of command lines that run one after another in one folder; its file has its name. The folder holds
the files of `support.snapshot_material`. A session on a board needs its emulator and a compiler; all others run as on a
machine without tools and boards (`support.snapshots`), so that they print the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

BOARD = "-b arm/mps2_an386"
CORE = "-t 'c -mcpu=cortex-m4'"


@dataclass(frozen=True)
class Session:
    """Command lines of one snapshot.

    Attributes:
        name: Of the snapshot, without its suffix.
        lines: What follows `aboard`, as for a shell.
        on_a_board: True where an image is built and run.
        columns: Width of the terminal.
    """

    name: str
    lines: tuple[str, ...]
    on_a_board: bool = False
    columns: int = 80


SESSIONS = (
    Session("aboard", ("--help", "", "--version", "bord", "--colour", "compile --bord x")),
    Session(
        "compile",
        (
            "compile --help",
            f"compile digits {BOARD} -o bundle",
            f"compile digits {CORE}",
        ),
    ),
    Session(
        "quantize",
        (
            "quantize --help",
            "quantize digits_f32",
            "quantize digits_f32 --data none.npz",
            "quantize digits_f32 --data x.npz -o out.bin",
            "quantize digits --data x.npz",
            "quantize mine --data x.npz",
        ),
    ),
    Session(
        "compare",
        (
            "compare --help",
            "compare digits_f32",
            "compare digits_f32 digits --data none.npz",
            "compare digits_f32 digit --data x.npz",
            "compare digits@nowhere digits --data x.npz",
            "compare digits@onnxruntime digits --data x.npz",
            "compare digits mine --data x.npz",
        ),
    ),
    Session(
        "farm",
        (
            "farm --help",
            "farm worker --help",
            "farm worker localhost:8786",
            "farm worker tcp://farm.lan:8786 --emulators 1",
            "farm worker tcp://127.0.0.1:8786 --builds 0",
            "farm worker tcp://127.0.0.1:8786 --attach nowhere/nothing",
            "farm status --help",
            "farm verify --help",
            "farm verify digits --farm tcp://127.0.0.1:8786",
            "farm verify digits -f x --boards arm/mps2_an386 --farm tcp://127.0.0.1:8786 --opt fast",
            "farm verify digit --boards arm/mps2_an386 --farm tcp://127.0.0.1:8786",
        ),
    ),
    Session(
        "compile-wrong-models",
        (
            f"compile {CORE}",
            f"compile none.tflite {CORE} -o out",
            f"compile digit {CORE} -o out",
            f"compile empty.tflite {CORE} -o out",
            f"compile noise.tflite {CORE} -o out",
            f"compile cut.tflite {CORE} -o out",
            f"compile damaged.tflite {CORE} -o out",
            f"compile x.json {CORE} -o out",
            f"compile mine {CORE} -o out",
            f"compile unsupported.tflite {CORE} -o out",
            f"compile uint8.tflite {CORE} -o out",
            f"compile digits {CORE} --name 'my model' -o out",
            f"compile digits {CORE} --name stdio -o out",
            f"compile none.tflite {CORE} --json",
        ),
    ),
    Session(
        "compile-wrong-targets",
        (
            "compile digits",
            f"compile digits {BOARD} {CORE}",
            "compile digits -b arm/mps2_an38 -o out",
            "compile digits -b nowhere/nothing -o out",
            "compile digits -t nosuch -o out",
            "compile digits -t 'c -mcpu=cortx-m7' -o out",
            "compile digits -t 'c -mcpu=cortex-m4+sve' -o out",
            "compile digits -t 'c -mcup=cortex-m4' -o out",
            "compile digits -t 'c -mcpu=cortex-m4 -opt=fastest' -o out",
            "compile digits -t 'c -mcpu=cortex-m4 size' -o out",
            "compile digits -t 'c -mcpu=cortex-m4 -opt=size -opt=speed' -o out",
            "compile digits -t 'c -mcpu=cortex-m4 -ram-max=much' -o out",
            "compile digits -t 'c -mcpu=cortex-m0 -mfpu=fpv5-d16' -o out",
            "compile digits -t 'c -opt=size' -o out",
            "compile digits -t '' -o out",
            "compile digits -t '{' -o out",
            "compile digits -t 'c -mcpu=cortex-m4 +' -o out",
            "compile digits -t cmsis-nn -o out",
            "compile digits -t 'c -mcpu=cortex-m4 + cmsis-nn' -o out",
            "compile digits -t 'arm/mps2_an386 -arena=dtcm' -o out",
            "compile digits -b nordic/nrf5340dk:gpu -o out",
            "compile digits -b nvidia/t4 -o out",
            "compile digits -b zephyr:nucleo_f446re -o out",
            "compile digits -t 'c -mcpu=cortex-m4 -ram-max=1K' -o out",
            "compile digits -t 'c -mcpu=cortex-m4 -flash-max=1K' -o out",
        ),
    ),
    Session(
        "output-folders",
        (
            f"compile digits {CORE} -o mine",
            f"compile digits {CORE} -o x.json",
            f"compile digits {CORE} -o .",
            f"report digits {CORE} -o x.json",
            f"report digits {CORE} -o nowhere/digits.html",
            f"create digits {BOARD} -o mine",
            "new-target my-npu -o mine",
            "compile digits -t 'c -mcpu=cortex-m3 -opt=size'",
            "compile digits_f32 -t 'c -mcpu=cortex-m3' --name digits",
        ),
    ),
    Session(
        "create",
        (
            "create --help",
            f"create digits {BOARD} -o project",
            f"create digits {BOARD} --template baremetl -o out",
            f"create digits {BOARD} -O tapes=on -o out",
            f"create digits {BOARD} -O taps=maybe -o out",
            f"create digits {BOARD} -O taps -o out",
            f"create digits {BOARD} -O stack_bytes=64M -o out",
            f"create digits {BOARD} -O stack_bytes=8000000 -o out",
            f"create digits {BOARD}",
            f"create digits digits {BOARD} --name both -o out",
            f"create digits {CORE} -o out",
            "create digits -b nxp/frdm_k64f -o out",
            "create digits -b st/stm32f0_disco -o out",
            f"create none.tflite {BOARD} -o out",
            "compile digits -b riscv/qemu_virt32 -o bundle",
            f"create bundle {BOARD} -o out",
            f"create mine {BOARD} -o out",
        ),
    ),
    Session(
        "build",
        (
            "build --help",
            f"create digits {BOARD} -o project",
            "build project",
            "build project --toolchain zigg",
            "build nowhere",
            "build mine",
        ),
    ),
    Session(
        "run",
        (
            "run --help",
            f"create digits {BOARD} -o project",
            "run project",
            "run project --runner qmu",
            "run project --runner qemu",
            "run project --runner openocd",
            "run project --runner serial",
            "run project --port /dev/ttyNONE",
            "run project --model digit",
            "run project --input x.json",
            "run project --input none.npy",
            "run project --input x.bin",
            "run project --input shape.npy",
            "run project --input random:one",
            "run project --output y.csv",
            "run nowhere",
            "run mine",
        ),
    ),
    Session(
        "flash",
        (
            "flash --help",
            f"create digits {BOARD} -o project",
            "flash project",
            "flash project --runner openocd",
            "create digits -b bbc/microbit -o microbit",
            "flash microbit",
            "flash microbit --runner opnocd",
            "flash microbit --runner jlink --dry-run",
        ),
    ),
    Session(
        "deploy",
        (
            "deploy --help",
            f"deploy digits {BOARD}",
            "deploy digits -b arm/mps2_an38",
            f"deploy digits {CORE}",
        ),
    ),
    Session("verify", ("verify --help", "verify digits", f"verify digits {BOARD}")),
    Session(
        "evaluate",
        (
            "evaluate --help",
            f"evaluate digits {BOARD}",
            f"evaluate digits {BOARD} --data x.npz --samples 0",
        ),
    ),
    Session(
        "bench",
        ("bench --help", f"bench digits {BOARD} --json -o none/b.json", f"bench digits {BOARD} -o bundle"),
    ),
    Session(
        "tune",
        ("tune --help", "tune digits -t 'c -mcpu=cortex-m4'", "tune digits"),
    ),
    Session("report", ("report --help", f"report digits {BOARD}", "report digits")),
    Session(
        "ops",
        (
            "ops --help",
            "ops",
            "ops --missing",
            "ops conv_2d SignalRfft TILE SHAPE READ_VARIABLE --core m4",
            "ops CONV_2",
            "ops TFLM_DECODE",
            "ops --core m44",
            "ops ADD --missing",
        ),
    ),
    Session(
        "passes",
        (
            "passes --help",
            f"passes {CORE}",
            f"passes {CORE} --passes fold-constant",
            f"passes {CORE} --passes 'fold-constants;remove-no-ops'",
            f"passes {CORE} --passes 'remove-channels{{block=0}}'",
        ),
    ),
    Session("partition", ("partition --help", f"partition digits {BOARD}", "partition none.tflite -t c")),
    Session(
        "ci",
        (
            "ci --help",
            "ci init --help",
            f"create digits {BOARD} -o project",
            "ci init project",
            "ci init nowhere",
            "ci init project --reference empty.tflite",
        ),
    ),
    Session(
        "debug",
        (
            "debug --help",
            f"create digits {BOARD} -o project",
            "debug project",
            "debug project --runner qemu --gdb nogdb",
            "debug nowhere",
        ),
    ),
    Session("new", ("new --help", f"new demo {BOARD}", f"new demo {BOARD}", f"new other {BOARD} --model none.tflite")),
    Session("devices", ("devices --help", "devices", "devices --json")),
    Session(
        "boards",
        (
            "boards --help",
            "boards",
            "boards --can emulate --can flash",
            "boards --can fly",
            "boards --fits digits --can bare-metal --can arduino",
            "boards --fits digit",
            "boards add --help",
            "boards add",
            "boards show --help",
            "boards show arm/mps2_an386",
            "boards show arm/mps2_an38",
            "boards show",
        ),
    ),
    Session(
        "hardware",
        (
            "hardware --help",
            "hardware --vendor arm",
            "hardware --vendor armm",
            "hardware --min-ram much",
            "hardware show --help",
            "hardware show nordic/nrf5340dk:net",
            "hardware show nordic/nrf5340dk:nett",
            "hardware detect --help",
            "hardware detect",
        ),
    ),
    Session(
        "targets",
        (
            "targets --help",
            "targets",
            "targets show --help",
            "targets show arm/mps2_an386",
            "targets show cortex-m5",
            "targets why --help",
            "targets why digits -t arm/mps2_an386",
        ),
    ),
    Session(
        "new-target",
        ("new-target --help", "new-target my-npu", "new-target My_NPU", "new-target c", "new-target"),
    ),
    Session("doctor", ("doctor --help", "doctor")),
    Session("wide", ("boards", f"compile digits {BOARD} -o bundle", "doctor"), columns=200),
    *(
        Session(
            name,
            (f"create digits {BOARD} -o project", "build project", "run project --profile"),
            on_a_board=True,
            columns=columns,
        )
        for name, columns in (("profile", 80), ("profile-wide", 200))
    ),
    Session(
        "on-a-board",
        (
            f"create digits {BOARD} -o project",
            "build project",
            "run project",
            "run project --input random:1 --output y.npz",
            "run project --input random:1 --output y.npz",
            "run project --input shape.npy",
            "run project --runner renode",
            f"deploy digits {BOARD} -o deployed",
            f"verify digits {BOARD} --samples 2",
            f"evaluate digits {BOARD} --data samples.npz",
            f"evaluate digits {BOARD} --data shape.npz",
            f"evaluate digits {BOARD} --data labels.npz",
            "ci init project --root .",
        ),
        on_a_board=True,
        columns=200,
    ),
    Session(
        "on-a-board-errors",
        (
            f"deploy none.tflite {BOARD}",
            "deploy digits -b nxp/frdm_k64f",
            f"deploy digits {BOARD} --runner qmu",
            f"deploy digits {BOARD} --toolchain gc",
            f"deploy digits {BOARD} -O tapes=on",
            f"deploy digits {BOARD} --input shape.npy",
            f"deploy digits {BOARD} -o mine",
            f"compile digits {CORE} -o bundle",
            f"verify bundle {BOARD}",
            f"evaluate digits {BOARD} --data none.npz",
            f"tune digits {BOARD} --points 2",
        ),
        on_a_board=True,
        columns=200,
    ),
)
