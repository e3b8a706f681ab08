/* SPDX-License-Identifier: Apache-2.0 */
/* SysTick (Arm Architecture Reference Manuals): counts down from its reload value, 24 bits. */
#include "aboard/port.h"
#include "aboard_board.h"
#include "arch.h"
#include "counter.h"

#define CSR ABOARD_REG32(0xE000E010u)
#define RVR ABOARD_REG32(0xE000E014u)
#define CVR ABOARD_REG32(0xE000E018u)
#define ICSR ABOARD_REG32(0xE000ED04u)

#define CSR_ENABLE (1u << 0)
#define CSR_INTERRUPT (1u << 1)
#define CSR_CPU_CLOCK (1u << 2)
#define ICSR_PENDSTSET (1u << 26)
#define ICSR_PENDSTCLR (1u << 25)

/* Bits in use: 24, or fewer in tests, which cannot wait until 24 bits wrap. */
#ifndef ABOARD_SYSTICK_BITS
#define ABOARD_SYSTICK_BITS 24
#endif
#define MASK ((1u << ABOARD_SYSTICK_BITS) - 1u)

static volatile uint32_t turns;
/* Ticks before the last reset of the counter to zero. */
static uint64_t before;

void aboard_counter_init(void) {
    CSR = 0;
    turns = 0;
    before = 0;
    RVR = MASK;
    CVR = 0;
    CSR = CSR_CPU_CLOCK | CSR_INTERRUPT | CSR_ENABLE;
}

void aboard_counter_interrupt(void) {
    turns++;
}

/* Call with interrupts disabled. */
static uint64_t read_ticks(void) {
    uint32_t down = CVR;
    uint32_t high = turns;
    /* The counter wrapped and its exception is still pending. `down` may be from before or after the wrap: read again.
     */
    if ((ICSR & ICSR_PENDSTSET) != 0) {
        down = CVR;
        high++;
    }
    /* The exception occurs at the step from 1 to 0, so 0 is the first tick of a period and 1 the last. */
    return before + ((uint64_t)high << ABOARD_SYSTICK_BITS) + (-down & MASK);
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
    CVR = 0; /* any write sets the counter to zero */
    ICSR = ICSR_PENDSTCLR;
    turns = 0;
    aboard_irq_restore(interrupts);
}

uint32_t aboard_port_tick_hz(void) {
    return ABOARD_COUNTER_HZ;
}
