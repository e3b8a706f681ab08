/* SPDX-License-Identifier: Apache-2.0 */
/* UART of SiFive's Freedom parts (FE310-G000 Manual, chapter UART). Eight bytes of FIFO in each direction. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define TXDATA ABOARD_REG32(ABOARD_UART_BASE + 0x00u)
#define RXDATA ABOARD_REG32(ABOARD_UART_BASE + 0x04u)
#define TXCTRL ABOARD_REG32(ABOARD_UART_BASE + 0x08u)
#define RXCTRL ABOARD_REG32(ABOARD_UART_BASE + 0x0Cu)
#define IE ABOARD_REG32(ABOARD_UART_BASE + 0x10u)
#define DIV ABOARD_REG32(ABOARD_UART_BASE + 0x18u)

#define TX_FULL (1u << 31)
#define RX_EMPTY (1u << 31)
#define ENABLE (1u << 0) /* with a watermark of 0: any received byte requests the interrupt */
#define IE_RX (1u << 1)

/* The baud rate is the clock of the UART divided by DIV + 1. */
#define DIVISOR ((ABOARD_UART_CLOCK_HZ + ABOARD_UART_BAUD / 2) / ABOARD_UART_BAUD - 1u)

void aboard_uart_setup(void) {
    DIV = DIVISOR;
    TXCTRL = ENABLE;
    RXCTRL = ENABLE;
    IE = IE_RX;
}

bool aboard_uart_take(uint8_t *byte) {
    const uint32_t data = RXDATA;
    if ((data & RX_EMPTY) != 0) {
        return false;
    }
    *byte = (uint8_t)data;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((TXDATA & TX_FULL) != 0) {
    }
    TXDATA = byte;
}
