/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch.h
 * Interrupts of the core, the same functions for every bare-metal port. This one: RISC-V in machine mode, with a PLIC
 * for external interrupts (RISC-V Platform-Level Interrupt Controller Specification; context 0).
 */
#ifndef ABOARD_ARCH_H
#define ABOARD_ARCH_H

#include <stdint.h>

#include "aboard_board.h"
#include "registers.h"

#define ABOARD_MSTATUS_MIE (1u << 3)
#define ABOARD_PLIC_PRIORITY(number) ABOARD_REG32(ABOARD_UART_PLIC + 4u * (number))
#define ABOARD_PLIC_ENABLE(number) ABOARD_REG32(ABOARD_UART_PLIC + 0x2000u + (number) / 32 * 4)
#define ABOARD_PLIC_THRESHOLD ABOARD_REG32(ABOARD_UART_PLIC + 0x200000u)
#define ABOARD_PLIC_CLAIM ABOARD_REG32(ABOARD_UART_PLIC + 0x200004u)

/** Disables interrupts; returns what aboard_irq_restore takes. */
static inline uint32_t aboard_irq_save(void) {
    uint32_t status;
    __asm volatile("csrrci %0, mstatus, 8" : "=r"(status)::"memory");
    return status;
}

/** Makes interrupts as they were before the matching aboard_irq_save. */
static inline void aboard_irq_restore(uint32_t status) {
    __asm volatile("csrs mstatus, %0" ::"r"(status & ABOARD_MSTATUS_MIE) : "memory");
}

/** Lets an external interrupt through to the core. */
static inline void aboard_irq_enable(uint32_t number) {
    ABOARD_PLIC_PRIORITY(number) = 1;
    ABOARD_PLIC_ENABLE(number) |= 1u << number % 32;
}

/** Sleeps until an interrupt is pending, also while interrupts are disabled. */
static inline void aboard_irq_wait(void) {
    __asm volatile("wfi" ::: "memory");
}

#endif
