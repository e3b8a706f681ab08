/* SPDX-License-Identifier: Apache-2.0 */
/* Receive buffer between a UART driver and the port. The interrupt handler stores received bytes in a ring buffer, so
 * that messages are not lost while the model runs. */
#include "aboard/port.h"
#include "aboard_board.h"
#include "arch.h"
#include "uart.h"

/* One writer (the interrupt) and one reader, each with its own free-running index, which wraps at 2^32. */
#define RING_BYTES ABOARD_RX_RING_BYTES
_Static_assert((RING_BYTES & (RING_BYTES - 1)) == 0, "ABOARD_RX_RING_BYTES has to be a power of two");

static volatile uint8_t ring[RING_BYTES];
static volatile uint32_t written;
static volatile uint32_t taken;

void aboard_uart_init(void) {
    aboard_uart_setup();
    aboard_irq_enable(ABOARD_UART_IRQ);
}

void aboard_uart_interrupt(void) {
    uint8_t byte;
    while (aboard_uart_take(&byte)) {
        const uint32_t at = written;
        if (at - taken < RING_BYTES) {
            ring[at % RING_BYTES] = byte;
            written = at + 1;
        }
    }
}

size_t aboard_port_read(uint8_t *data, size_t capacity) {
    uint32_t at = taken;
    const uint32_t waiting = written - at;
    const size_t count = waiting < capacity ? waiting : capacity;
    for (size_t i = 0; i < count; i++) {
        data[i] = ring[at++ % RING_BYTES];
    }
    taken = at;
    return count;
}

void aboard_port_write(const uint8_t *data, size_t count) {
    for (size_t i = 0; i < count; i++) {
        aboard_uart_put(data[i]);
    }
}

void aboard_port_idle(void) {
    /* With interrupts disabled, no byte can arrive unnoticed between the check and the sleep. It still ends the sleep.
     */
    const uint32_t mask = aboard_irq_save();
    if (written == taken) {
        aboard_irq_wait();
    }
    aboard_irq_restore(mask);
}
