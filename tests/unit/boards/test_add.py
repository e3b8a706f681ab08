"""`aboard boards add`: board files from a Zephyr tree, a CMSIS-Pack and an SVD file."""

import dataclasses
import json
import sys
import zipfile

import pytest

from aboard import cli
from aboard.boards import registry
from aboard.boards.vendors import description, markup, pack, regions, svd
from aboard.boards.zephyr import tree_board, tree_description
from aboard.errors import BoardError, ToolError
from support import zephyr_tree

PDSC = """<package schemaVersion="1.7.2"><vendor>Acme</vendor><name>Fast_DFP</name>
<releases><release version="1.2.3"/><release version="1.0.0"/></releases>
<devices><family Dfamily="Fast" Dvendor="Acme:999">
 <processor Dcore="Cortex-M55" Dfpu="DP_FPU" Ddsp="DSP" Dmve="MVE" Dclock="160000000"/>
 <memory name="SRAM" access="rw" start="0x20000000" size="0x20000" default="1"/>
 <device Dname="FAST512"><memory name="Flash" access="rx" start="0x08000000" size="0x80000" startup="1"/></device>
 <subFamily DsubFamily="Slow"><processor Dcore="Cortex-M0+" Dfpu="NO_FPU" Ddsp="NO_DSP" Dmve="NO_MVE"/>
  <device Dname="SLOW64"><memory id="IROM1" start="0x0" size="65536" default="1"/></device></subFamily>
</family>
<family Dfamily="Twin" Dvendor="Acme:999"><device Dname="TWIN">
 <processor Pname="app" Dcore="Cortex-M7" Dfpu="SP_FPU"/><processor Pname="net" Dcore="Cortex-M33" Ddsp="NO_DSP"/>
 <memory name="ROM" access="rx" start="0x0" size="0x1000" Pname="app"/>
 <memory name="NROM" access="rx" start="0x1000" size="0x1000" Pname="net"/>
 <memory name="RAM" access="rwx" start="0x20000000" size="0x1000"/>
</device></family></devices></package>"""

SVD = """<device schemaVersion="1.3"><vendorID>ACME</vendorID><name>FAST</name><version>1.1</version>
<cpu><name>CM4</name><fpuPresent>true</fpuPresent></cpu>
<peripherals><peripheral><name>USART1</name><baseAddress>0x40013800</baseAddress>
<interrupt><name>USART1</name><value>37</value></interrupt></peripheral>
<peripheral><name>RCC</name><baseAddress>0x40021000</baseAddress></peripheral></peripherals></device>"""


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "Acme.Fast_DFP.1.2.3.pack"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("Acme.Fast_DFP.pdsc", PDSC)
    return path


@pytest.fixture
def svd_file(tmp_path):
    path = tmp_path / "fast.svd"
    path.write_text(SVD)
    return path


@pytest.fixture
def added(tmp_path, monkeypatch):
    """Runs the command and returns the board that it wrote."""
    monkeypatch.setenv("ABOARD_BOARDS", str(tmp_path / "boards"))

    def run(*words):
        assert cli.invoke(["boards", "add", *map(str, words), "--json"]) == 0
        return registry.load

    return run


def test_a_zephyr_tree_becomes_board_files(tmp_path, added, capsys):
    load = added("--zephyr", "sensor", "--tree", zephyr_tree.write(tmp_path / "zephyr"))
    result = json.loads(capsys.readouterr().out)
    assert result["board"] == "acme/sensor"
    assert result["source"].startswith("Zephyr 3.7.1: boards/acme/sensor/sensor.dts, dts/arm/acme/fast.dtsi")
    board = load("acme/sensor")
    assert (board.core().mcpu, board.core().clock_hz) == ("cortex-m33+nodsp", 96_000_000)
    found = [(r.name, r.kind, r.address, r.size_bytes, r.load, r.data) for r in board.memory]
    assert found == [
        ("flash0", "flash", 0x0, 524_288, True, False),
        ("sram0", "ram", 0x2000_0000, 131_072, False, True),
        ("dtcm", "dtcm", 0x3000_0000, 32_768, False, False),
    ]
    assert board.zephyr == "sensor"
    assert board.flash.tools == {
        "openocd": {"config": ("interface/stlink.cfg", "transport select hla_swd")},
        "pyocd": {"target": "fast512"},
        "jlink": {"device": "FAST512"},
    }
    text = (tmp_path / "boards" / "acme" / "sensor.toml").read_text()
    assert "uart1 (acme,uart) at 0x50008000, interrupts 37, 38, 230400 baud" in text
    assert "pins uart1_tx_pa9, uart1_rx_pa10" in text.replace("\n# ", " ")
    assert "acme/fast-pinctrl.dtsi" in text


@pytest.mark.parametrize(
    ("device", "core", "mcpu", "load"),
    [
        ("FAST512", None, "cortex-m55+nomve.fp", 0x0800_0000),
        ("SLOW64", None, "cortex-m0plus", 0),
        ("TWIN", None, "cortex-m7+nofp.dp", 0),
        ("TWIN", "net", "cortex-m33+nodsp+nofp", 0x1000),
    ],
)
def test_a_pack_becomes_a_description(archive, device, core, mcpu, load):
    found = pack.describe(archive, device, core)
    assert found.mcpu == mcpu
    assert [r.address for r in found.memory if r.load] == [load]
    assert [r.address for r in found.memory if r.data] == [0x2000_0000]
    assert found.source == f"CMSIS-Pack Acme.Fast_DFP 1.2.3 (device {device})"


def test_a_pack_and_an_svd_file_become_board_files(archive, svd_file, added, tmp_path):
    board = added("lab/box", "--pack", archive, "--device", "FAST512", "--svd", svd_file)("lab/box")
    assert (board.soc, board.flash_bytes, board.ram_bytes) == ("lab/fast512", 524_288, 131_072)
    assert board.core().clock_hz == 160_000_000
    assert "USART1 at 0x40013800, interrupts 37 (SVD file of FAST, version 1.1)" in (
        tmp_path / "boards" / "lab" / "box.toml"
    ).read_text().replace("\n# ", " ")


def test_an_svd_file_with_given_memories(svd_file, added):
    words = ("--memory", "flash:flash:0x08000000:512K", "--memory", "ram:ram:0x20000000:0x20000")
    board = added("--svd", svd_file, *words)("acme/fast")
    assert (board.core().mcpu, board.flash_bytes, board.ram_bytes) == ("cortex-m4", 524_288, 131_072)


def _refusal(call, error=BoardError):
    with pytest.raises(error) as raised:
        call()
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "core"), [("CM0PLUS", "cortex-m0plus"), ("CM35P", "cortex-m35p+nodsp"), ("CM85", "cortex-m85+nomve")]
)
def test_cores_of_svd_files(svd_file, added, name, core):
    svd_file.write_text(SVD.replace("CM4", name))
    words = ("--memory", "flash:flash:0x08000000:512K", "--memory", "ram:ram:0x20000000:0x20000")
    board = added("--svd", svd_file, *words)("acme/fast")
    assert board.core().mcpu == core


def test_what_is_refused(archive, svd_file, tmp_path, monkeypatch):
    base = zephyr_tree.write(tmp_path / "zephyr")
    described = pack.describe(archive, "FAST512", None)
    assert "no such board" in _refusal(lambda: tree_board.describe(base, "sensr"))
    assert "Did you mean sensor" in _refusal(lambda: tree_board.describe(base, "sensr"))
    assert "no device tree of board sensor/fast/net" in _refusal(lambda: tree_board.describe(base, "sensor/fast/net"))
    assert "has 3 devices" in _refusal(lambda: pack.describe(archive, None, None))
    assert "no such device, got FAST51" in _refusal(lambda: pack.describe(archive, "FAST51", None))
    assert "no such core, got ap" in _refusal(lambda: pack.describe(archive, "TWIN", "ap"))
    assert "cannot be read" in _refusal(lambda: pack.describe(svd_file, None, None))
    assert "document type" in _refusal(lambda: markup.parse(b'<!DOCTYPE a [<!ENTITY b "c">]><a/>', "x.svd"))
    assert "not XML" in _refusal(lambda: markup.parse(b"<a>", "x.svd"))
    (tmp_path / "other.svd").write_text("<package/>")
    assert "no SVD file, got <package>" in _refusal(lambda: svd.read(tmp_path / "other.svd"))
    assert "cannot be read" in _refusal(lambda: svd.read(tmp_path / "none.svd"))
    assert "--memory: no region, got flash:0:512K" in _refusal(lambda: regions.parse("flash:0:512K"))
    unknown = dataclasses.replace(described, mcpu="cortex-m99")
    assert "no kernels for its core, got cortex-m99" in _refusal(lambda: description.texts(unknown))
    monkeypatch.setitem(sys.modules, "kconfiglib", None)
    message = _refusal(lambda: tree_description.describe(base, "sensor"), ToolError)
    assert message.endswith("Run pip install kconfiglib")


def test_a_board_without_kernels_is_refused(tmp_path):
    base = zephyr_tree.write(tmp_path / "zephyr")
    kconfig = base / "soc" / "acme" / "Kconfig"
    kconfig.write_text(kconfig.read_text().replace("\tselect CPU_CORTEX_M33\n", ""))
    assert "no kernels for its core, got arm,cortex-m33" in _refusal(lambda: tree_description.describe(base, "sensor"))


def test_a_description_without_memory_names_the_option(svd_file, capsys):
    assert cli.invoke(["boards", "add", "--svd", str(svd_file)]) != 0
    assert "--memory NAME:KIND:ADDRESS:BYTES" in capsys.readouterr().err


def test_a_changed_file_is_not_replaced(archive, added, tmp_path, capsys):
    words = ("--pack", archive, "--device", "FAST512")
    added(*words)
    added(*words)
    path = tmp_path / "boards" / "acme" / "fast512.toml"
    path.write_text(path.read_text().replace("FAST512", "FAST512, ours"))
    assert cli.invoke(["boards", "add", *map(str, words)]) != 0
    assert "--force" in capsys.readouterr().err
    added(*words, "--force")
    assert "ours" not in path.read_text()


def test_one_description_is_needed(capsys):
    assert cli.invoke(["boards", "add"]) == 2
    assert "Name one description" in capsys.readouterr().err
