/* SPDX-License-Identifier: Apache-2.0 */
/* The line with the asynchronous UART API (DMA): no interrupt per byte, and slow interrupts lose no bytes. */
#include <string.h>
#include <zephyr/drivers/uart.h>
#include <zephyr/kernel.h>

#include "uart.h"

#define PIECE_BYTES 64
/* Idle time of the line after which a partly filled buffer is delivered. */
#define SILENCE_US 200

/* DMA accesses RAM only, and on some chips bypasses the data cache. */
static uint8_t incoming[2][PIECE_BYTES] __nocache;
static uint8_t outgoing[PIECE_BYTES] __nocache;
static uint8_t in_use;
static K_SEM_DEFINE(sent, 0, 1);

static void receive(void) {
    in_use = 0;
    (void)uart_rx_enable(aboard_uart, incoming[0], PIECE_BYTES, SILENCE_US);
}

static void on_event(const struct device *uart, struct uart_event *event, void *user) {
    ARG_UNUSED(user);
    switch (event->type) {
    case UART_RX_RDY:
        (void)ring_buf_put(&aboard_received, event->data.rx.buf + event->data.rx.offset, (uint32_t)event->data.rx.len);
        aboard_wake();
        break;
    case UART_RX_BUF_REQUEST:
        in_use ^= 1u;
        (void)uart_rx_buf_rsp(uart, incoming[in_use], PIECE_BYTES);
        break;
    case UART_RX_DISABLED:
        receive();
        break;
    case UART_TX_DONE:
    case UART_TX_ABORTED:
        k_sem_give(&sent);
        break;
    default:
        break;
    }
}

void aboard_uart_init(void) {
    (void)uart_callback_set(aboard_uart, on_event, NULL);
    receive();
}

void aboard_uart_poll(void) {}

void aboard_uart_send(const uint8_t *data, size_t count) {
    while (count != 0) {
        const size_t piece = MIN(count, sizeof outgoing);
        memcpy(outgoing, data, piece);
        if (uart_tx(aboard_uart, outgoing, piece, SYS_FOREVER_US) != 0) {
            return;
        }
        (void)k_sem_take(&sent, K_FOREVER);
        data += piece;
        count -= piece;
    }
}
