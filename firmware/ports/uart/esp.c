/* SPDX-License-Identifier: Apache-2.0 */
/* UART of ESP32-C3 and ESP32-C6 (Technical Reference Manuals, chapter UART Controller). FIFOs of 128 bytes in each
 * direction. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define FIFO ABOARD_REG32(ABOARD_UART_BASE + 0x00u)
#define INT_ENA ABOARD_REG32(ABOARD_UART_BASE + 0x0Cu)
#define INT_CLR ABOARD_REG32(ABOARD_UART_BASE + 0x10u)
#define CLKDIV ABOARD_REG32(ABOARD_UART_BASE + 0x14u)
#define STATUS ABOARD_REG32(ABOARD_UART_BASE + 0x1Cu)
#define CONF0 ABOARD_REG32(ABOARD_UART_BASE + 0x20u)
#define CONF1 ABOARD_REG32(ABOARD_UART_BASE + 0x24u)

#define INT_RX (1u << 0) /* RXFIFO_FULL: as many bytes wait as CONF1 says */
#define CONF0_FORMAT 0x3Fu
#define CONF0_8_BITS_1_STOP 0x1Cu
#define CONF1_RX_BYTES 0xFFu
#define RX_COUNT(status) ((status) & 0xFFu)
#define TX_COUNT(status) ((status) >> 16 & 0xFFu)
#define FIFO_BYTES 128u

/* The divisor in 1/16, rounded. */
#define DIVISOR ((16u * ABOARD_UART_CLOCK_HZ + ABOARD_UART_BAUD / 2) / ABOARD_UART_BAUD)

/* Parts with a register for it take over settings only when told to. */
static void update(void) {
#ifdef ABOARD_UART_UPDATE
    ABOARD_REG32(ABOARD_UART_BASE + ABOARD_UART_UPDATE) = 1;
    while (ABOARD_REG32(ABOARD_UART_BASE + ABOARD_UART_UPDATE) != 0) {
    }
#endif
}

void aboard_uart_setup(void) {
    INT_ENA = 0;
#ifdef ABOARD_UART_CLOCK
    ABOARD_REG32(ABOARD_UART_BASE + ABOARD_UART_CLOCK) = 0x03700000u; /* CLK_CONF: crystal, undivided, both on */
#endif
    CLKDIV = DIVISOR >> 4 | (DIVISOR & 15u) << 20;
    CONF0 = (CONF0 & ~CONF0_FORMAT) | CONF0_8_BITS_1_STOP;
    CONF1 = (CONF1 & ~CONF1_RX_BYTES) | 1u;
    update();
    INT_CLR = INT_RX;
    INT_ENA = INT_RX;
}

bool aboard_uart_take(uint8_t *byte) {
    if (RX_COUNT(STATUS) == 0) {
        INT_CLR = INT_RX;
        /* A byte may have arrived before the request was cleared; it would wait for the next one. */
        if (RX_COUNT(STATUS) == 0) {
            return false;
        }
    }
    *byte = (uint8_t)FIFO;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while (TX_COUNT(STATUS) >= FIFO_BYTES - 1u) {
    }
    FIFO = byte;
}
