/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch.h
 * Interrupts of the core, for Cortex-M. Every bare-metal port has these functions.
 */
#ifndef ABOARD_ARCH_H
#define ABOARD_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "image.h"
#include "registers.h"

/** Disables interrupts; returns the argument for aboard_irq_restore. */
static inline uint32_t aboard_irq_save(void) {
    uint32_t mask;
    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask)::"memory");
    return mask;
}

/** Restores the interrupt state before the matching aboard_irq_save. */
static inline void aboard_irq_restore(uint32_t mask) {
    __asm volatile("msr primask, %0" ::"r"(mask) : "memory");
}

/** Enables an external interrupt. */
static inline void aboard_irq_enable(uint32_t number) {
    ABOARD_REG32(0xE000E100u + number / 32 * 4) = 1u << number % 32; /* NVIC_ISER */
}

/** Turns a stack overflow into a fault on cores with a stack limit (Armv8-M Mainline). On other cores, an overflow
 * faults only if there is no memory below the stack. */
static inline void aboard_stack_guard(void) {
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
    __asm volatile("msr msplim, %0" ::"r"(__stack_bottom));
#endif
}

/** True if a word of the stack may be a return address: an odd address in the code, after BL or BLX. */
static inline bool aboard_is_return(uint32_t word) {
    const uint32_t address = word - 1u;
    if ((word & 1u) == 0 || address < (uintptr_t)__code_start + 4u || address >= (uintptr_t)__code_end) {
        return false;
    }
    const uint16_t *const code = (const uint16_t *)(uintptr_t)address;
    return ((code[-2] & 0xF800u) == 0xF000u && (code[-1] & 0xD000u) == 0xD000u) || (code[-1] & 0xFF87u) == 0x4780u;
}

/** Sleeps until an interrupt is pending, even if interrupts are disabled. */
static inline void aboard_irq_wait(void) {
    __asm volatile("dsb\n\twfi" ::: "memory");
}

#endif
