/* SPDX-License-Identifier: Apache-2.0 */
/* Records a fault and restarts: the record survives in .noinit, and the host reads it after the restart. */
#include "fault.h"

#include "aboard/port.h"
#include "image.h"
#include "registers.h"

#define FRAME_WORDS 8 /* r0-r3, r12, lr, pc, xpsr, as the core stacks them */

void aboard_fault_entry(void);
void aboard_fault_record(const uint32_t *frame);

/* Takes the stack pointer as it was. After a stack overflow it points below the stack: then start at the top again. */
__attribute__((naked)) void aboard_fault_entry(void) {
    __asm volatile("mrs r0, msp\n\t"
                   "ldr r1, =__stack_bottom\n\t"
                   "cmp r0, r1\n\t"
                   "bhs 1f\n\t"
                   "ldr r1, =__stack_top\n\t"
                   "mov sp, r1\n"
                   "1:\n\t"
                   "ldr r1, =aboard_fault_record\n\t"
                   "bx r1\n\t"
                   ".ltorg");
}

/* CFSR and the addresses exist from Armv7-M on. */
static void record_cause(aboard_fault_t *fault) {
#if __ARM_ARCH >= 7 && !defined(__ARM_ARCH_8M_BASE__)
    fault->status = ABOARD_REG32(0xE000ED28u); /* CFSR */
    if ((fault->status & 0x8000u) != 0) {      /* BFARVALID */
        fault->address = ABOARD_REG32(0xE000ED38u);
    } else if ((fault->status & 0x80u) != 0) { /* MMARVALID */
        fault->address = ABOARD_REG32(0xE000ED34u);
    }
#else
    (void)fault;
#endif
}

__attribute__((used)) void aboard_fault_record(const uint32_t *frame) {
    uint32_t exception;
    __asm volatile("mrs %0, ipsr" : "=r"(exception));
    aboard_fault_t *fault = aboard_fault_begin(exception);
    const uintptr_t at = (uintptr_t)frame;
    if (at >= (uintptr_t)__stack_bottom && at + FRAME_WORDS * sizeof *frame <= (uintptr_t)__stack_top) {
        for (uint32_t i = 0; i < FRAME_WORDS; i++) {
            fault->registers[i] = frame[i];
        }
    }
    record_cause(fault);
    aboard_port_reset();
}
