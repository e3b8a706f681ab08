/* SPDX-License-Identifier: Apache-2.0 */
/* UART of nRF51 (Reference Manual, chapter UART); the legacy UART of nRF52 is the same. Six bytes of receive FIFO. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define REG(offset) ABOARD_REG32(ABOARD_UART_BASE + (offset))
#define TASKS_STARTRX REG(0x000u)
#define TASKS_STARTTX REG(0x008u)
#define EVENTS_RXDRDY REG(0x108u)
#define EVENTS_TXDRDY REG(0x11Cu)
#define INTENSET REG(0x304u)
#define ENABLE REG(0x500u)
#define PSELTXD REG(0x50Cu)
#define PSELRXD REG(0x514u)
#define RXD REG(0x518u)
#define TXD REG(0x51Cu)
#define BAUDRATE REG(0x524u)

#define INT_RXDRDY (1u << 2)
#define ENABLED 4u

/* baud * 2^32 / clock, rounded to the upper 20 bits; the hardware ignores the lower bits. */
#define BAUD_BITS ((((uint64_t)ABOARD_UART_BAUD << 32) / ABOARD_UART_CLOCK_HZ + 0x800u) & 0xFFFFF000u)

static bool sending;

void aboard_uart_setup(void) {
    PSELTXD = ABOARD_UART_TX_PIN;
    PSELRXD = ABOARD_UART_RX_PIN;
    BAUDRATE = (uint32_t)BAUD_BITS;
    ENABLE = ENABLED;
    EVENTS_RXDRDY = 0;
    EVENTS_TXDRDY = 0;
    sending = false;
    TASKS_STARTRX = 1;
    TASKS_STARTTX = 1;
    INTENSET = INT_RXDRDY;
}

bool aboard_uart_take(uint8_t *byte) {
    if (EVENTS_RXDRDY == 0) {
        return false;
    }
    EVENTS_RXDRDY = 0; /* cleared before RXD is read: the read may make the next byte available, with its own event */
    *byte = (uint8_t)RXD;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while (sending && EVENTS_TXDRDY == 0) {
    }
    EVENTS_TXDRDY = 0;
    sending = true;
    TXD = byte;
}
