/* SPDX-License-Identifier: Apache-2.0 */
/* mtime of RISC-V (Privileged Architecture, 3.2.1): 64 bits, memory-mapped. */
#include "aboard/port.h"
#include "aboard_board.h"
#include "counter.h"
#include "registers.h"

#define LOW ABOARD_REG32(ABOARD_COUNTER_BASE)
#define HIGH ABOARD_REG32(ABOARD_COUNTER_BASE + 4u)

void aboard_counter_init(void) {}

void aboard_counter_interrupt(void) {}

uint64_t aboard_port_ticks(void) {
    uint32_t high;
    uint32_t low;
    do {
        high = HIGH;
        low = LOW;
    } while (high != HIGH);
    return (uint64_t)high << 32 | low;
}

/* Nothing to do: mtime belongs to the whole machine and must not be written. */
void aboard_port_ticks_align(void) {}

uint32_t aboard_port_tick_hz(void) {
    return ABOARD_COUNTER_HZ;
}
