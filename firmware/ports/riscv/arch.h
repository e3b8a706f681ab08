/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch.h
 * Interrupts of the core, for RISC-V in machine mode. Every bare-metal port has these functions. interrupts.h has those
 * of the interrupt controller.
 */
#ifndef ABOARD_ARCH_H
#define ABOARD_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard_board.h"
#include "image.h"

#define ABOARD_GUARD_BYTES 1024u
#define ABOARD_PMP_LOCKED_TOR 0x88u /* no access between the previous address and this one, even in machine mode */
#define ABOARD_MSTATUS_MIE (1u << 3)

/** Disables interrupts; returns the argument for aboard_irq_restore. */
static inline uint32_t aboard_irq_save(void) {
    uint32_t status;
    __asm volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return status;
}

/** Restores the interrupt state before the matching aboard_irq_save. */
static inline void aboard_irq_restore(uint32_t status) {
    __asm volatile("csrs mstatus, %0" ::"r"(status & ABOARD_MSTATUS_MIE) : "memory");
}

/** Enables an external interrupt. The driver of the interrupt controller defines it. */
void aboard_irq_enable(uint32_t number);

/** Turns a stack overflow into a fault on cores with physical memory protection: its first two entries protect the
 * memory below the stack until a reset of the chip. */
static inline void aboard_stack_guard(void) {
    const uint32_t bottom = (uint32_t)(uintptr_t)__stack_bottom;
    /* A core without these registers traps and continues after them. */
    __asm volatile("la t0, 1f\n\t"
                   "csrrw t0, mtvec, t0\n\t"
                   "csrw pmpaddr0, %0\n\t"
                   "csrw pmpaddr1, %1\n\t"
                   "csrw pmpcfg0, %2\n\t"
                   ".balign 4\n"
                   "1:\n\t"
                   "csrw mtvec, t0" ::"r"((bottom - ABOARD_GUARD_BYTES) >> 2),
                   "r"(bottom >> 2), "r"(ABOARD_PMP_LOCKED_TOR << 8)
                   : "t0", "memory");
}

/** Returns a halfword of the code. Some instruction buses read aligned words only. */
static inline uint32_t aboard_code_at(uint32_t address) {
    const uint32_t word = *(const volatile uint32_t *)(uintptr_t)(address & ~3u);
    return (address & 2u) != 0 ? word >> 16 : word & 0xFFFFu;
}

/** True if a word of the stack may be a return address: an address in the code, after JAL or JALR with ra. */
static inline bool aboard_is_return(uint32_t word) {
    if ((word & 1u) != 0 || word < (uintptr_t)__code_start + 4u || word >= (uintptr_t)__code_end) {
        return false;
    }
    const uint32_t wide = aboard_code_at(word - 4u) & 0xFFFu;
    const uint32_t narrow = aboard_code_at(word - 2u);
    return wide == 0xEFu || wide == 0xE7u || (narrow & 0xE003u) == 0x2001u ||
           ((narrow & 0xF07Fu) == 0x9002u && (narrow & 0xF80u) != 0);
}

/** Sleeps until an interrupt is pending, even if interrupts are disabled. */
static inline void aboard_irq_wait(void) {
    __asm volatile("wfi" ::: "memory");
}

#endif
