/* SPDX-License-Identifier: Apache-2.0 */
/* TIMER of nRF51 (Reference Manual, chapter TIMER), extended from 32 bits. nRF51 has no SysTick. */
#include "aboard/port.h"
#include "aboard_board.h"
#include "arch.h"
#include "counter.h"

#define REG(offset) ABOARD_REG32(ABOARD_COUNTER_BASE + (offset))
#define TASKS_START REG(0x000u)
#define TASKS_STOP REG(0x004u)
#define TASKS_CLEAR REG(0x00Cu)
#define TASKS_CAPTURE0 REG(0x040u)
#define EVENTS_COMPARE(n) REG(0x140u + 4u * (n))
#define INTENSET REG(0x304u)
#define MODE REG(0x504u)
#define BITMODE REG(0x508u)
#define PRESCALER REG(0x510u)
#define CC(n) REG(0x540u + 4u * (n))

/* Bits in use: 32, or 16 in tests, which cannot wait until 32 bits wrap. */
#ifndef ABOARD_TIMER_BITS
#define ABOARD_TIMER_BITS 32
#endif
#define BITMODE_16 0u
#define BITMODE_32 3u
#define INT_COMPARE(n) (1u << (16 + (n)))

static uint32_t high;
static uint32_t last;
/* Ticks before the last reset of the counter to zero. */
static uint64_t before;

void aboard_counter_init(void) {
    TASKS_STOP = 1;
    MODE = 0;
    BITMODE = ABOARD_TIMER_BITS == 16 ? BITMODE_16 : BITMODE_32;
    PRESCALER = 0;
    TASKS_CLEAR = 1;
    high = 0;
    last = 0;
    before = 0;
    /* Two interrupts per wrap: the counter is read in each half of its range, so that no wrap is missed. */
    CC(1) = 1u << (ABOARD_TIMER_BITS - 2);
    CC(2) = 3u << (ABOARD_TIMER_BITS - 2);
    INTENSET = INT_COMPARE(1) | INT_COMPARE(2);
    aboard_irq_enable(ABOARD_COUNTER_IRQ);
    TASKS_START = 1;
}

/* Call with interrupts disabled. */
static uint64_t read_ticks(void) {
    TASKS_CAPTURE0 = 1;
    const uint32_t now = CC(0);
    if (now < last) {
        high++;
    }
    last = now;
    return before + ((uint64_t)high << ABOARD_TIMER_BITS | now);
}

uint64_t aboard_port_ticks(void) {
    const uint32_t interrupts = aboard_irq_save();
    const uint64_t ticks = read_ticks();
    aboard_irq_restore(interrupts);
    return ticks;
}

void aboard_port_ticks_align(void) {
    const uint32_t interrupts = aboard_irq_save();
    before = read_ticks();
    TASKS_CLEAR = 1;
    high = 0;
    last = 0;
    aboard_irq_restore(interrupts);
}

void aboard_counter_interrupt(void) {
    EVENTS_COMPARE(1) = 0;
    EVENTS_COMPARE(2) = 0;
    (void)aboard_port_ticks();
}

uint32_t aboard_port_tick_hz(void) {
    return ABOARD_COUNTER_HZ;
}
