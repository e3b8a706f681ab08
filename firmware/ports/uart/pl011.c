/* SPDX-License-Identifier: Apache-2.0 */
/* PrimeCell UART PL011 (DDI 0183), which is also the UART of Stellaris parts. FIFOs are on. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define DR ABOARD_REG32(ABOARD_UART_BASE + 0x00u)
#define FR ABOARD_REG32(ABOARD_UART_BASE + 0x18u)
#define IBRD ABOARD_REG32(ABOARD_UART_BASE + 0x24u)
#define FBRD ABOARD_REG32(ABOARD_UART_BASE + 0x28u)
#define LCRH ABOARD_REG32(ABOARD_UART_BASE + 0x2Cu)
#define CR ABOARD_REG32(ABOARD_UART_BASE + 0x30u)
#define IFLS ABOARD_REG32(ABOARD_UART_BASE + 0x34u)
#define IMSC ABOARD_REG32(ABOARD_UART_BASE + 0x38u)
#define ICR ABOARD_REG32(ABOARD_UART_BASE + 0x44u)

#define FR_RX_EMPTY (1u << 4)
#define FR_TX_FULL (1u << 5)
#define LCRH_FIFO (1u << 4)
#define LCRH_8_BITS (3u << 5)
#define CR_UART (1u << 0)
#define CR_TX (1u << 8)
#define CR_RX (1u << 9)
#define INT_RX (1u << 4)
#define INT_RX_TIMEOUT (1u << 6) /* bytes below the interrupt level of the FIFO */

/* The divisor in 1/64, rounded: clock / (16 * baud). */
#define DIVISOR ((ABOARD_UART_CLOCK_HZ * 4u + ABOARD_UART_BAUD / 2) / ABOARD_UART_BAUD)

void aboard_uart_setup(void) {
    CR = 0;
    IBRD = DIVISOR >> 6;
    FBRD = DIVISOR & 63u;
    LCRH = LCRH_8_BITS | LCRH_FIFO; /* latches the divisor */
    IFLS = 0;                       /* interrupt at 1/8 full */
    IMSC = INT_RX | INT_RX_TIMEOUT;
    CR = CR_UART | CR_TX | CR_RX;
}

bool aboard_uart_take(uint8_t *byte) {
    if ((FR & FR_RX_EMPTY) != 0) {
        ICR = INT_RX_TIMEOUT;
        /* A byte may have arrived before the request was cleared; it would wait for the next interrupt. */
        if ((FR & FR_RX_EMPTY) != 0) {
            return false;
        }
    }
    *byte = (uint8_t)DR;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((FR & FR_TX_FULL) != 0) {
    }
    DR = byte;
}
