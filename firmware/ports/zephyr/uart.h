/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file uart.h
 * Between the files of the Zephyr port: the serial line, which one of uart_interrupt.c, uart_async.c and uart_polling.c
 * drives (Kconfig: ABOARD_UART_*), and the ring that all three fill.
 */
#ifndef ABOARD_ZEPHYR_UART_H
#define ABOARD_ZEPHYR_UART_H

#include <stddef.h>
#include <stdint.h>
#include <zephyr/device.h>
#include <zephyr/sys/ring_buffer.h>

/** The line: the device tree's chosen `aboard,rpc-uart`, else `zephyr,console`. */
extern const struct device *const aboard_uart;

/** Bytes that have arrived and aboard_port_read has not taken. One writer and one reader. */
extern struct ring_buf aboard_received;

/** Driver: starts to receive into the ring. Called once, from the server's thread. */
void aboard_uart_init(void);

/** Driver: moves what the hardware holds into the ring, where no interrupt does that; else nothing. */
void aboard_uart_poll(void);

/** Driver: sends bytes from any memory; returns when the hardware has taken them. */
void aboard_uart_send(const uint8_t *data, size_t count);

/** Ends aboard_port_idle: there is something for the server to do. From threads and interrupts. */
void aboard_wake(void);

#endif
