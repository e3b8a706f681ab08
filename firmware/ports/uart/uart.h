/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file uart.h
 * The functions that a UART driver provides, and the functions built on them. A driver supports one IP block;
 * aboard_board.h defines its address and its clock.
 */
#ifndef ABOARD_UART_H
#define ABOARD_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Driver: configures the line (8 data bits, no parity, 1 stop bit) and enables receive interrupts of the UART. */
void aboard_uart_setup(void);

/** Driver: reads a received byte from the hardware; false if there is none. Clears the interrupt request. */
bool aboard_uart_take(uint8_t *byte);

/** Driver: waits for space in the hardware and sends a byte. */
void aboard_uart_put(uint8_t byte);

/** Sets up the driver and its interrupt. */
void aboard_uart_init(void);

/** Interrupt handler: moves received bytes into the ring buffer. If the buffer is full, bytes are lost. */
void aboard_uart_interrupt(void);

#endif
