/* SPDX-License-Identifier: Apache-2.0 */
/* Platform-level interrupt controller (RISC-V Platform-Level Interrupt Controller Specification), context 0. */
#include "aboard_board.h"
#include "arch.h"
#include "interrupts.h"
#include "registers.h"

#define PRIORITY(number) ABOARD_REG32(ABOARD_IRQ_BASE + 4u * (number))
#define ENABLE(number) ABOARD_REG32(ABOARD_IRQ_BASE + 0x2000u + (number) / 32 * 4)
#define THRESHOLD ABOARD_REG32(ABOARD_IRQ_BASE + 0x200000u)
#define CLAIM ABOARD_REG32(ABOARD_IRQ_BASE + 0x200004u)

#define MIE_EXTERNAL (1u << 11)

void aboard_interrupts_init(void) {
    THRESHOLD = 0;
    __asm volatile("csrw mie, %0" ::"r"(MIE_EXTERNAL));
}

void aboard_irq_enable(uint32_t number) {
    PRIORITY(number) = 1;
    ENABLE(number) |= 1u << number % 32;
}

uint32_t aboard_interrupts_claim(void) {
    return CLAIM;
}

void aboard_interrupts_complete(uint32_t number) {
    CLAIM = number;
}
