"""Serial ports by IP block, as far as aboard's drivers use them."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import override

from aboard.emulation.uart import Uart


class Cmsdk(Uart):
    """UART of Arm's Cortex-M System Design Kit."""

    @override
    def read(self, offset: int, size: int) -> int:
        """DATA and STATE."""
        if offset == 0x00:
            return self._take()
        return int(bool(self._waiting)) << 1 if offset == 0x04 else 0

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """DATA and CTRL."""
        if offset == 0x00:
            self.send(bytes([value & 0xFF]))
        elif offset == 0x08:
            self._enable(value & 8)


class Pl011(Uart):
    """PrimeCell UART PL011.

    Attributes:
        divisor: Baud rate divisor of IBRD and FBRD, in 1/64.
    """

    divisor = 0

    @override
    def read(self, offset: int, size: int) -> int:
        """DR and FR."""
        if offset == 0x00:
            return self._take()
        return 0 if self._waiting or offset != 0x18 else 1 << 4

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """DR, IBRD, FBRD and IMSC."""
        if offset == 0x00:
            self.send(bytes([value & 0xFF]))
        elif offset == 0x24:
            self.divisor = value << 6 | self.divisor & 63
        elif offset == 0x28:
            self.divisor = self.divisor & ~63 | value & 63
        elif offset == 0x38:
            self._enable(value & 0x50)


class _Stm32(Uart):
    """USART of STM32. The two generations differ in register addresses, not in the bits used here.

    Attributes:
        divisor: Value of BRR.
    """

    control, divisor_at, status, taken, given, running = 0, 0, 0, 0, 0, 0

    def __init__(self, base: int) -> None:
        super().__init__(base)
        self.divisor = 0
        self._control = 0

    def reset(self) -> None:
        """Puts it into the state after a reset; what waits on the line stays."""
        super().reset()
        self.divisor = self._control = 0

    @override
    def read(self, offset: int, size: int) -> int:
        """Reads data and status. The transmitter is always ready. No byte arrives before USART and receiver are on."""
        on = self._control & self.running == self.running
        if offset == self.taken:
            return self._take() if on else 0
        return 0x80 | int(on and bool(self._waiting)) << 5 if offset == self.status else 0

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """Writes data, CR1 and BRR. BRR is fixed while the USART is on. No byte is sent without a divisor."""
        if offset == self.given and self._control & 8 and self.divisor:
            self.send(bytes([value & 0xFF]))
        elif offset == self.control:
            self._control = value
            self._enable(value & self.running == self.running and value & 0x20)
        elif offset == self.divisor_at and not self._control & self.running & ~4:
            self.divisor = value


class Stm32UsartV1(_Stm32):
    """USART of STM32 F1, F2, F4 and L1."""

    control, divisor_at, status, taken, given, running = 0x0C, 0x08, 0x00, 0x04, 0x04, 0x2004


class Stm32UsartV2(_Stm32):
    """USART and LPUART of the other STM32."""

    control, divisor_at, status, taken, given, running = 0x00, 0x0C, 0x1C, 0x24, 0x28, 0x0005


class Nrf51(Uart):
    """UART of nRF51. Each byte raises an event when it reaches RXD."""

    def __init__(self, base: int) -> None:
        super().__init__(base)
        self._noticed = False
        self._sent = False

    def reset(self) -> None:
        """Puts it into the state after a reset; what waits on the line stays."""
        super().reset()
        self._noticed = self._sent = False

    @property
    def requests(self) -> bool:
        """True while RXDRDY is raised and its interrupt enabled."""
        return self.interrupts and self._ready

    @property
    def _ready(self) -> bool:
        return bool(self._waiting) and not self._noticed

    @override
    def read(self, offset: int, size: int) -> int:
        """RXDRDY, TXDRDY and RXD."""
        if offset == 0x518:
            self._noticed = False
            self.changed()
            return self._take()
        return int({0x108: self._ready, 0x11C: self._sent}.get(offset, False))

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """STARTRX, RXDRDY, TXDRDY, INTENSET and TXD."""
        if offset == 0x108:
            self._noticed = bool(self._waiting) and not value
        elif offset == 0x000:
            self._noticed = False
            self.changed()
        elif offset == 0x11C:
            self._sent = bool(value)
        elif offset == 0x304:
            self._enable(value & 4)
        elif offset == 0x51C:
            self._sent = True
            self.send(bytes([value & 0xFF]))


class NrfUarte(Uart):
    """UARTE of nRF53 and nRF91: DMA moves the bytes. A transfer that is started ends when its buffer is full."""

    def __init__(self, base: int) -> None:
        super().__init__(base)
        self._registers: dict[int, int] = {}
        self._started = False

    def reset(self) -> None:
        """Puts it into the state after a reset; what waits on the line stays."""
        super().reset()
        self._registers.clear()
        self._started = False

    @override
    def receive(self, data: bytes) -> None:
        """Queues bytes from the host, and moves them to memory while a transfer is started."""
        super().receive(data)
        self._move()

    @property
    def requests(self) -> bool:
        """True while ENDRX is raised and its interrupt enabled."""
        return self.interrupts and bool(self._registers.get(0x110))

    @override
    def read(self, offset: int, size: int) -> int:
        """Returns the stored value: events and settings."""
        return self._registers.get(offset, 0)

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """STARTRX and STARTTX start transfers while the port is enabled; other registers store the value."""
        self._registers[offset] = value
        if offset == 0x304:
            self._enable(value & 0x10)
        elif offset == 0x110:
            self.changed()
        elif self._registers.get(0x500) == 8 and offset in (0x000, 0x008):
            if offset == 0x008:
                self.send(self.load(self._registers.get(0x544, 0), self._registers.get(0x548, 0)))
                self._registers[0x120] = 1
            else:
                self._started = True
                self._move()

    def _move(self) -> None:
        """Fills the receive buffer, if a transfer is started and enough bytes wait."""
        count = self._registers.get(0x538, 0)
        if self._started and len(self._waiting) >= count > 0:
            self._started = False
            self.store(self._registers.get(0x534, 0), bytes(self._take() for _ in range(count)))
            self._registers[0x110] = 1
            self.changed()


class Ns16550(Uart):
    """UART 16550, with a register stride of 1 << `reg_shift` bytes."""

    def __init__(self, base: int, reg_shift: int = 0) -> None:
        super().__init__(base)
        self._shift = reg_shift
        self._divisor = False

    @override
    def read(self, offset: int, size: int) -> int:
        """Reads RBR and LSR. The transmitter is always ready."""
        register = offset >> self._shift
        if register == 0:
            return self._take()
        return 0x60 | bool(self._waiting) if register == 5 else 0

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """Writes THR, IER and LCR. Bit 7 of LCR maps the divisor in place of THR and IER."""
        register = offset >> self._shift
        if register == 3:
            self._divisor = bool(value & 0x80)
        elif register == 0 and not self._divisor:
            self.send(bytes([value & 0xFF]))
        elif register == 1 and not self._divisor:
            self._enable(value & 1)


class Esp(Uart):
    """UART of ESP32-C3 and ESP32-C6. A request for its interrupt lasts until it is cleared and the FIFO is empty.

    Attributes:
        divisor: Baud rate divisor of CLKDIV, in 1/16.
    """

    divisor = 0
    _threshold = 0x60

    @property
    @override
    def requests(self) -> bool:
        return self.interrupts and len(self._waiting) >= self._threshold

    def reset(self) -> None:
        """Puts it into the state after a reset; what waits on the line stays."""
        super().reset()
        self._threshold = 0x60

    @override
    def read(self, offset: int, size: int) -> int:
        """FIFO and STATUS. The transmitter is always ready, and registers are synchronised at once."""
        if offset == 0x00:
            return self._take()
        return min(len(self._waiting), 128) if offset == 0x1C else 0

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """FIFO, INT_ENA, CLKDIV and CONF1."""
        if offset == 0x00:
            self.send(bytes([value & 0xFF]))
        elif offset == 0x0C:
            self._enable(value & 1)
        elif offset == 0x14:
            self.divisor = (value & 0xFFF) << 4 | value >> 20 & 15
        elif offset == 0x24:
            self._threshold = value & 0xFF


class Lpuart(Uart):
    """LPUART of i.MX RT. Registers take settings while transmitter and receiver are off.

    Attributes:
        divisor: Clocks of a bit: the oversampling times the divisor of BAUD.
    """

    divisor = 0
    _control = 0

    def reset(self) -> None:
        """Puts it into the state after a reset; what waits on the line stays."""
        super().reset()
        self._control = self.divisor = 0

    @override
    def read(self, offset: int, size: int) -> int:
        """STAT, CTRL and DATA. The transmitter is always ready. No byte arrives before the receiver is on."""
        on = bool(self._control & 1 << 18)
        if offset == 0x1C:
            return self._take() if on else 0
        if offset == 0x14:
            return 1 << 23 | int(on and bool(self._waiting)) << 21
        return self._control if offset == 0x18 else 0

    @override
    def write(self, offset: int, size: int, value: int) -> None:
        """BAUD, CTRL and DATA."""
        if offset == 0x1C and self._control & 1 << 19 and self.divisor:
            self.send(bytes([value & 0xFF]))
        elif offset == 0x18:
            self._control = value
            self._enable(value & 1 << 21 and value & 1 << 18)
        elif offset == 0x10 and not self._control & 3 << 18:
            self.divisor = ((value >> 24 & 31) + 1) * (value & 0x1FFF)


#: Models by the driver name in board files.
MODELS: Mapping[str, type[Uart]] = {
    "cmsdk": Cmsdk,
    "esp": Esp,
    "lpuart": Lpuart,
    "pl011": Pl011,
    "nrf51": Nrf51,
    "nrf_uarte": NrfUarte,
    "ns16550": Ns16550,
    "stm32_usart_v1": Stm32UsartV1,
    "stm32_usart_v2": Stm32UsartV2,
}
