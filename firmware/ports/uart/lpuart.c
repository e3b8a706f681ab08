/* SPDX-License-Identifier: Apache-2.0 */
/* LPUART of i.MX RT (i.MX RT1060 Reference Manual, chapter LPUART). The FIFOs are off, as after a reset. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define BAUD ABOARD_REG32(ABOARD_UART_BASE + 0x10u)
#define STAT ABOARD_REG32(ABOARD_UART_BASE + 0x14u)
#define CTRL ABOARD_REG32(ABOARD_UART_BASE + 0x18u)
#define DATA ABOARD_REG32(ABOARD_UART_BASE + 0x1Cu)

#define BAUD_OSR(samples) (((samples) - 1u) << 24)
#define STAT_OVERRUN (1u << 19)
#define STAT_RX_FULL (1u << 21)
#define STAT_TX_EMPTY (1u << 23)
#define CTRL_RX (1u << 18)
#define CTRL_TX (1u << 19)
#define CTRL_RX_INTERRUPT (1u << 21)

/* The baud rate is the clock divided by the samples of a bit and by a divisor. */
#define SAMPLES 16u
#define DIVISOR ((ABOARD_UART_CLOCK_HZ + SAMPLES * ABOARD_UART_BAUD / 2) / (SAMPLES * ABOARD_UART_BAUD))

void aboard_uart_setup(void) {
    CTRL = 0;
    BAUD = BAUD_OSR(SAMPLES) | DIVISOR;
    CTRL = CTRL_RX | CTRL_TX | CTRL_RX_INTERRUPT;
}

bool aboard_uart_take(uint8_t *byte) {
    const uint32_t status = STAT;
    if ((status & STAT_OVERRUN) != 0) {
        STAT = STAT_OVERRUN; /* a 1 clears it; no byte is received before that */
    }
    if ((status & STAT_RX_FULL) == 0) {
        return false;
    }
    *byte = (uint8_t)DATA;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((STAT & STAT_TX_EMPTY) == 0) {
    }
    DATA = byte;
}
