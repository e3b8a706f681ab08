/* SPDX-License-Identifier: Apache-2.0 */
/* USART and LPUART of STM32 F0, F3, F7, G, H, L4 and U5, with a data register for each direction (RM0385 and RM0432,
 * chapters USART and LPUART). FIFOs, where there are any, stay off. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define CR1 ABOARD_REG32(ABOARD_UART_BASE + 0x00u)
#define CR2 ABOARD_REG32(ABOARD_UART_BASE + 0x04u)
#define CR3 ABOARD_REG32(ABOARD_UART_BASE + 0x08u)
#define BRR ABOARD_REG32(ABOARD_UART_BASE + 0x0Cu)
#define ISR ABOARD_REG32(ABOARD_UART_BASE + 0x1Cu)
#define RDR ABOARD_REG32(ABOARD_UART_BASE + 0x24u)
#define TDR ABOARD_REG32(ABOARD_UART_BASE + 0x28u)

#define CR1_USART (1u << 0)
#define CR1_RX (1u << 2)
#define CR1_TX (1u << 3)
#define CR1_RX_INTERRUPT (1u << 5)
#define CR3_NO_OVERRUN (1u << 12) /* on an overrun, the new byte replaces the old byte and no error must be cleared */
#define ISR_RX_READY (1u << 5)
#define ISR_TX_EMPTY (1u << 7)

/* Factor of the divisor: 1 for a USART with oversampling by 16, 256 for an LPUART. */
#ifndef ABOARD_UART_DIVISOR_SCALE
#define ABOARD_UART_DIVISOR_SCALE 1u
#endif
#define DIVISOR (((uint64_t)ABOARD_UART_CLOCK_HZ * ABOARD_UART_DIVISOR_SCALE + ABOARD_UART_BAUD / 2) / ABOARD_UART_BAUD)

void aboard_uart_setup(void) {
    CR1 = 0;
    CR2 = 0; /* 1 stop bit */
    CR3 = CR3_NO_OVERRUN;
    BRR = (uint32_t)DIVISOR;
    CR1 = CR1_USART | CR1_TX | CR1_RX | CR1_RX_INTERRUPT;
}

bool aboard_uart_take(uint8_t *byte) {
    if ((ISR & ISR_RX_READY) == 0) {
        return false;
    }
    *byte = (uint8_t)RDR;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((ISR & ISR_TX_EMPTY) == 0) {
    }
    TDR = byte;
}
