/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupt controller of Hazard3 (RP2350 data sheet, 3.8: extension Xh3irq), in control registers of the core. The
 * interrupts have their priority after reset, which is the lowest for all. */
#include "aboard_board.h"
#include "arch.h"
#include "interrupts.h"

#define MIE_EXTERNAL (1u << 11)

/* MEIEA: a window of 16 enable bits in the upper half, selected by the lower bits of the same access. */
#define WINDOW_BITS 16u
/* MEINEXT: the pending interrupt of the highest priority, times 4; the top bit is set for none. */
#define NEXT_NONE (1u << 31)
#define NEXT_SHIFT 2

void aboard_interrupts_init(void) {
    __asm volatile("csrw mie, %0" ::"r"(MIE_EXTERNAL));
}

void aboard_irq_enable(uint32_t number) {
    const uint32_t bit = 1u << (WINDOW_BITS + number % WINDOW_BITS);
    __asm volatile("csrs 0xbe0, %0" ::"r"(bit | number / WINDOW_BITS)); /* MEIEA */
}

uint32_t aboard_interrupts_claim(void) {
    uint32_t next;
    __asm volatile("csrr %0, 0xbe4" : "=r"(next)); /* MEINEXT */
    return (next & NEXT_NONE) != 0 ? ABOARD_IRQ_NONE : next >> NEXT_SHIFT;
}

/* A request ends when its source does. */
void aboard_interrupts_complete(uint32_t number) {
    (void)number;
}
