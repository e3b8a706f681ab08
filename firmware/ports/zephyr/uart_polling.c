/* SPDX-License-Identifier: Apache-2.0 */
/* The line without interrupts. While the model runs, received bytes stay in the hardware until aboard_port_yield reads
 * them between two operators. */
#include <zephyr/drivers/uart.h>

#include "uart.h"

void aboard_uart_init(void) {}

void aboard_uart_poll(void) {
    uint8_t byte;
    while (ring_buf_space_get(&aboard_received) != 0 && uart_poll_in(aboard_uart, &byte) == 0) {
        (void)ring_buf_put(&aboard_received, &byte, sizeof byte);
    }
}

void aboard_uart_send(const uint8_t *data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uart_poll_out(aboard_uart, data[i]);
    }
}
