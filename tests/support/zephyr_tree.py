"""A small Zephyr tree with one board, as the readers of trees need it."""

from __future__ import annotations

from pathlib import Path

_FILES = {
    "VERSION": "VERSION_MAJOR = 3\nVERSION_MINOR = 7\nPATCHLEVEL = 1\n",
    "boards/acme/sensor/board.yml": """board:
  name: sensor
  full_name: Acme Sensor
  vendor: acme
  socs:
    - name: fast
""",
    "boards/acme/sensor/Kconfig.sensor": "config BOARD_SENSOR\n\tselect SOC_FAST\n",
    "boards/acme/sensor/board.cmake": (
        'board_runner_args(jlink "--device=FAST512" "--speed=4000")\nboard_runner_args(pyocd "--target=fast512")\n'
    ),
    "boards/acme/sensor/support/openocd.cfg": "# Probe\nsource [find interface/stlink.cfg]\ntransport select hla_swd\n",
    "boards/acme/sensor/sensor.dts": """/dts-v1/;
#include <acme/fast.dtsi>
#include <acme/fast-pinctrl.dtsi>
#include <mem.h>

/ {
	model = "Acme Sensor";
	chosen {
		zephyr,console = &uart1;
		zephyr,sram = &sram0;
		zephyr,flash = &flash0;
	};
};

&flash0 {
	reg = <0x0 DT_SIZE_K(512)>;
};

&uart1 {
	pinctrl-0 = <&uart1_tx_pa9 &uart1_rx_pa10>;
	pinctrl-names = "default";
	current-speed = <230400>;
	status = "okay";
};
""",
    "dts/common/mem.h": "#define DT_SIZE_K(x) ((x) * 1024)\n",
    "dts/arm/acme/fast.dtsi": """/ {
	#address-cells = <1>;
	#size-cells = <1>;
	cpus {
		#address-cells = <1>;
		#size-cells = <0>;
		cpu@0 {
			device_type = "cpu";
			compatible = "arm,cortex-m33";
			reg = <0>;
			clock-frequency = <96000000>;
		};
	};
	soc {
		#address-cells = <1>;
		#size-cells = <1>;
		interrupt-parent = <&nvic>;
		ranges;
		nvic: interrupt-controller@e000e100 {
			reg = <0xe000e100 0xc00>;
			interrupt-controller;
			#interrupt-cells = <2>;
		};
		sram0: memory@20000000 {
			compatible = "mmio-sram";
			reg = <0x20000000 0x20000>;
		};
		dtcm: memory@30000000 {
			compatible = "zephyr,memory-region", "arm,dtcm";
			reg = <0x30000000 0x8000>;
		};
		unused: memory@40000000 {
			compatible = "mmio-sram";
			reg = <0x40000000 0x8000>;
			status = "disabled";
		};
		bus: bus@50000000 {
			#address-cells = <1>;
			#size-cells = <1>;
			ranges = <0x0 0x50000000 0x10000000>;
			uart1: serial@8000 {
				compatible = "acme,uart", "ns16550";
				reg = <0x8000 0x100>;
				interrupts = <37 0 38 0>;
				status = "disabled";
			};
			flash-controller@39000 {
				#address-cells = <1>;
				#size-cells = <1>;
				reg = <0x39000 0x1000>;
				flash0: flash@0 {
					compatible = "soc-nv-flash";
				};
			};
		};
	};
};
""",
    "soc/acme/soc.yml": "family:\n  - name: acme\n    socs:\n      - name: fast\n",
    "soc/acme/Kconfig.soc": "config SOC_FAST\n\tbool\n",
    "soc/acme/Kconfig": (
        "config SOC_FAST\n\tselect ARM\n\tselect CPU_CORTEX_M33\n\tselect CPU_HAS_FPU\n"
        "\nconfig TIMER\n\tbool\n\tdefault y if $(dt_nodelabel_enabled,uart1)\n"
    ),
    "arch/Kconfig": 'config ARM\n\tbool\n\nsource "$(KCONFIG_BINARY_DIR)/arch/Kconfig"\n',
    "arch/arm/Kconfig": ("config CPU_CORTEX_M33\n\tbool\n\nconfig CPU_HAS_FPU\n\tbool\n\nconfig ARMV8_M_DSP\n\tbool\n"),
}


def write(folder: Path) -> Path:
    """Writes the tree into a folder and returns the folder."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
