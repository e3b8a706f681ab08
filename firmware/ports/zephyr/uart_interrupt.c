/* SPDX-License-Identifier: Apache-2.0 */
/* The line with the interrupt-driven UART API: bytes are received while the model runs. */
#include <zephyr/drivers/uart.h>
#include <zephyr/irq.h>

#include "uart.h"

/* Reads bytes from the hardware once; false if there are none. If the ring buffer is full, bytes are lost. */
static bool take(const struct device *uart) {
    uint8_t lost;
    uint8_t *room = NULL;
    const uint32_t capacity = ring_buf_put_claim(&aboard_received, &room, CONFIG_ABOARD_RECEIVE_BYTES);
    const int count =
        capacity != 0 ? uart_fifo_read(uart, room, (int)capacity) : uart_fifo_read(uart, &lost, (int)sizeof lost);
    (void)ring_buf_put_finish(&aboard_received, capacity != 0 && count > 0 ? (uint32_t)count : 0);
    return count > 0;
}

static void on_interrupt(const struct device *uart, void *user) {
    ARG_UNUSED(user);
    if (uart_irq_update(uart) == 0 || uart_irq_rx_ready(uart) <= 0) {
        return;
    }
    while (take(uart)) {
    }
    aboard_wake();
}

void aboard_uart_init(void) {
    (void)uart_irq_callback_user_data_set(aboard_uart, on_interrupt, NULL);
    /* A byte that arrived earlier requests no interrupt and blocks all further bytes, so it is read here. */
    const unsigned int key = irq_lock();
    uart_irq_rx_enable(aboard_uart);
    uint8_t byte;
    while (uart_poll_in(aboard_uart, &byte) == 0) {
        (void)ring_buf_put(&aboard_received, &byte, sizeof byte);
    }
    irq_unlock(key);
}

void aboard_uart_poll(void) {}

void aboard_uart_send(const uint8_t *data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uart_poll_out(aboard_uart, data[i]);
    }
}
