/* SPDX-License-Identifier: Apache-2.0 */
/* UART of Arm's Cortex-M System Design Kit (DDI 0479): one byte of buffer in each direction. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define DATA ABOARD_REG32(ABOARD_UART_BASE + 0x00u)
#define STATE ABOARD_REG32(ABOARD_UART_BASE + 0x04u)
#define CTRL ABOARD_REG32(ABOARD_UART_BASE + 0x08u)
#define INTCLEAR ABOARD_REG32(ABOARD_UART_BASE + 0x0Cu)
#define BAUDDIV ABOARD_REG32(ABOARD_UART_BASE + 0x10u)

#define STATE_TX_FULL (1u << 0)
#define STATE_RX_FULL (1u << 1)
#define CTRL_TX (1u << 0)
#define CTRL_RX (1u << 1)
#define CTRL_RX_INTERRUPT (1u << 3)
#define INT_RX (1u << 1)

void aboard_uart_setup(void) {
    BAUDDIV = (ABOARD_UART_CLOCK_HZ + ABOARD_UART_BAUD / 2) / ABOARD_UART_BAUD;
    CTRL = CTRL_TX | CTRL_RX | CTRL_RX_INTERRUPT;
}

bool aboard_uart_take(uint8_t *byte) {
    /* Cleared before the status is read, so that a byte that arrives in between requests the interrupt again. */
    INTCLEAR = INT_RX;
    if ((STATE & STATE_RX_FULL) == 0) {
        return false;
    }
    *byte = (uint8_t)DATA;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((STATE & STATE_TX_FULL) != 0) {
    }
    DATA = byte;
}
