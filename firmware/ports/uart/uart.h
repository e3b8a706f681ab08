/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file uart.h
 * What the driver of a UART provides, and what is made of it. A driver knows one IP block; where it lies and how it is
 * clocked comes from aboard_board.h.
 */
#ifndef ABOARD_UART_H
#define ABOARD_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Driver: sets the line up (8 data bits, no parity, 1 stop bit) and lets the UART request receive interrupts. */
void aboard_uart_setup(void);

/** Driver: takes a received byte out of the hardware; false when there is none. Ends the interrupt request. */
bool aboard_uart_take(uint8_t *byte);

/** Driver: sends a byte, after waiting for room in the hardware. */
void aboard_uart_put(uint8_t byte);

/** Sets the driver and its interrupt up. */
void aboard_uart_init(void);

/** Interrupt handler: moves what was received into the ring. Bytes that find it full are lost, as on the line. */
void aboard_uart_interrupt(void);

#endif
