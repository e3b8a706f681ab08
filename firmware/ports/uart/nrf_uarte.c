/* SPDX-License-Identifier: Apache-2.0 */
/* UARTE of nRF53 and nRF91, which has no registers for data: DMA moves each byte (nRF5340 Product Specification,
 * chapter UARTE). While no transfer is started, received bytes wait in the FIFO of the UARTE. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define REG(offset) ABOARD_REG32(ABOARD_UART_BASE + (offset))
#define TASKS_STARTRX REG(0x000u)
#define TASKS_STARTTX REG(0x008u)
#define EVENTS_ENDRX REG(0x110u)
#define EVENTS_ENDTX REG(0x120u)
#define INTENSET REG(0x304u)
#define ENABLE REG(0x500u)
#define PSELTXD REG(0x50Cu)
#define PSELRXD REG(0x514u)
#define BAUDRATE REG(0x524u)
#define RXD_PTR REG(0x534u)
#define RXD_MAXCNT REG(0x538u)
#define TXD_PTR REG(0x544u)
#define TXD_MAXCNT REG(0x548u)

#define INT_ENDRX (1u << 4)
#define ENABLED 8u

/* baud * 2^32 / clock, rounded to the upper 20 bits; the hardware ignores the lower bits. */
#define BAUD_BITS ((((uint64_t)ABOARD_UART_BAUD << 32) / ABOARD_UART_CLOCK_HZ + 0x800u) & 0xFFFFF000u)

/* DMA reaches RAM only. */
static volatile uint8_t received;
static volatile uint8_t to_send;
static bool sending;

void aboard_uart_setup(void) {
    PSELTXD = ABOARD_UART_TX_PIN;
    PSELRXD = ABOARD_UART_RX_PIN;
    BAUDRATE = (uint32_t)BAUD_BITS;
    ENABLE = ENABLED;
    RXD_PTR = (uint32_t)(uintptr_t)&received;
    RXD_MAXCNT = 1;
    TXD_PTR = (uint32_t)(uintptr_t)&to_send;
    TXD_MAXCNT = 1;
    EVENTS_ENDRX = 0;
    EVENTS_ENDTX = 0;
    sending = false;
    INTENSET = INT_ENDRX;
    TASKS_STARTRX = 1;
}

bool aboard_uart_take(uint8_t *byte) {
    if (EVENTS_ENDRX == 0) {
        return false;
    }
    EVENTS_ENDRX = 0;
    *byte = received;
    TASKS_STARTRX = 1;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while (sending && EVENTS_ENDTX == 0) {
    }
    EVENTS_ENDTX = 0;
    sending = true;
    to_send = byte;
    TASKS_STARTTX = 1;
}
