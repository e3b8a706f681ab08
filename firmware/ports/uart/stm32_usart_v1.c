/* SPDX-License-Identifier: Apache-2.0 */
/* USART of STM32 F1, F2, F4 and L1, with one data register for both directions (RM0090, chapter USART). No FIFO. */
#include "aboard_board.h"
#include "registers.h"
#include "uart.h"

#define SR ABOARD_REG32(ABOARD_UART_BASE + 0x00u)
#define DR ABOARD_REG32(ABOARD_UART_BASE + 0x04u)
#define BRR ABOARD_REG32(ABOARD_UART_BASE + 0x08u)
#define CR1 ABOARD_REG32(ABOARD_UART_BASE + 0x0Cu)
#define CR2 ABOARD_REG32(ABOARD_UART_BASE + 0x10u)
#define CR3 ABOARD_REG32(ABOARD_UART_BASE + 0x14u)

#define SR_OVERRUN (1u << 3)
#define SR_RX_READY (1u << 5)
#define SR_TX_EMPTY (1u << 7)
#define CR1_RX (1u << 2)
#define CR1_TX (1u << 3)
#define CR1_RX_INTERRUPT (1u << 5)
#define CR1_USART (1u << 13)

/* With oversampling by 16, the register (mantissa and fraction) is the clock divided by the baud rate. */
#define DIVISOR ((ABOARD_UART_CLOCK_HZ + ABOARD_UART_BAUD / 2) / ABOARD_UART_BAUD)

void aboard_uart_setup(void) {
    CR1 = 0;
    CR2 = 0; /* 1 stop bit */
    CR3 = 0;
    BRR = DIVISOR;
    CR1 = CR1_USART | CR1_TX | CR1_RX | CR1_RX_INTERRUPT;
}

bool aboard_uart_take(uint8_t *byte) {
    const uint32_t status = SR;
    if ((status & SR_RX_READY) == 0) {
        /* An overrun also requests the interrupt. Reading the status and then the data clears it. */
        if ((status & SR_OVERRUN) != 0) {
            (void)DR;
        }
        return false;
    }
    *byte = (uint8_t)DR;
    return true;
}

void aboard_uart_put(uint8_t byte) {
    while ((SR & SR_TX_EMPTY) == 0) {
    }
    DR = byte;
}
