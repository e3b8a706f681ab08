/* SPDX-License-Identifier: Apache-2.0 */
/* UART 16550 and compatibles (National Semiconductor PC16550D). FIFOs of 16 bytes are on. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

/* The distance between registers is 1 << ABOARD_UART_REG_SHIFT bytes. */
#ifndef ABOARD_UART_REG_SHIFT
#define ABOARD_UART_REG_SHIFT 0
#endif
#define REG(number) ABOARD_REG8(ABOARD_UART_BASE + ((number) << ABOARD_UART_REG_SHIFT))
#define DATA REG(0u) /* with DLAB: low byte of the divisor */
#define IER REG(1u)  /* with DLAB: high byte of the divisor */
#define FCR REG(2u)
#define LCR REG(3u)
#define LSR REG(5u)

#define IER_RX (1u << 0)
#define FCR_ON_AND_CLEAR 7u
#define LCR_8_BITS 3u
#define LCR_DLAB (1u << 7)
#define LSR_RX_READY (1u << 0)
#define LSR_TX_EMPTY (1u << 5)

#define DIVISOR ((ABOARD_UART_CLOCK_HZ + 8u * ABOARD_UART_BAUD) / (16u * ABOARD_UART_BAUD))

void aboard_uart_setup(void) {
    IER = 0;
    LCR = LCR_8_BITS | LCR_DLAB;
    DATA = (uint8_t)DIVISOR;
    IER = (uint8_t)(DIVISOR >> 8);
    LCR = LCR_8_BITS;
    FCR = FCR_ON_AND_CLEAR;
    IER = IER_RX;
}

bool aboard_uart_take(uint8_t *byte) {
    if ((LSR & LSR_RX_READY) == 0) {
        return false;
    }
    *byte = DATA;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((LSR & LSR_TX_EMPTY) == 0) {
    }
    DATA = byte;
}
