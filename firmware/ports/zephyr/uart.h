/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file uart.h
 * The serial line and its receive buffer. Internal to the Zephyr port. One of uart_interrupt.c, uart_async.c and
 * uart_polling.c drives the line (Kconfig: ABOARD_UART_*); all three fill the same ring buffer.
 */
#ifndef ABOARD_ZEPHYR_UART_H
#define ABOARD_ZEPHYR_UART_H

#include <stddef.h>
#include <stdint.h>
#include <zephyr/device.h>
#include <zephyr/sys/ring_buffer.h>

/** The line: the device tree's chosen `aboard,rpc-uart`, else `zephyr,console`. */
extern const struct device *const aboard_uart;

/** Received bytes that aboard_port_read has not read. One writer and one reader. */
extern struct ring_buf aboard_received;

/** Driver: starts to receive into the ring buffer. Called once, from the server's thread. */
void aboard_uart_init(void);

/** Driver: moves bytes from the hardware into the ring buffer if no interrupt does so; else does nothing. */
void aboard_uart_poll(void);

/** Driver: sends bytes from any memory; returns when the hardware has accepted them. */
void aboard_uart_send(const uint8_t *data, size_t count);

/** Ends aboard_port_idle because the server has work. May be called from threads and interrupts. */
void aboard_wake(void);

#endif
