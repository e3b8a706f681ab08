/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch.h
 * Interrupts of the core, the same functions for every bare-metal port. This one: Cortex-M.
 */
#ifndef ABOARD_ARCH_H
#define ABOARD_ARCH_H

#include <stdint.h>

#include "registers.h"

/** Disables interrupts; returns what aboard_irq_restore takes. */
static inline uint32_t aboard_irq_save(void) {
    uint32_t mask;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask)::"memory");
    return mask;
}

/** Makes interrupts as they were before the matching aboard_irq_save. */
static inline void aboard_irq_restore(uint32_t mask) {
    __asm volatile("msr primask, %0" ::"r"(mask) : "memory");
}

/** Lets an external interrupt through to the core. */
static inline void aboard_irq_enable(uint32_t number) {
    ABOARD_REG32(0xE000E100u + number / 32 * 4) = 1u << number % 32; /* NVIC_ISER */
}

/** Sleeps until an interrupt is pending, also while interrupts are disabled. */
static inline void aboard_irq_wait(void) {
    __asm volatile("dsb\n\twfi" ::: "memory");
}

#endif
