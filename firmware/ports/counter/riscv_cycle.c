/* SPDX-License-Identifier: Apache-2.0 */
/* mcycle of RISC-V (Privileged Architecture, 3.1.10): 64 bits in two control registers. */
#include "aboard/port.h"
#include "aboard_board.h"
#include "counter.h"

void aboard_counter_init(void) {}

void aboard_counter_interrupt(void) {}

uint64_t aboard_port_ticks(void) {
    uint32_t high;
    uint32_t low;
    uint32_t again;
    do {
        __asm volatile("csrr %0, mcycleh" : "=r"(high));
        __asm volatile("csrr %0, mcycle" : "=r"(low));
        __asm volatile("csrr %0, mcycleh" : "=r"(again));
    } while (high != again);
    return (uint64_t)high << 32 | low;
}

/* Nothing to align: a tick is a cycle. */
void aboard_port_ticks_align(void) {}

uint32_t aboard_port_tick_hz(void) {
    return ABOARD_COUNTER_HZ;
}
