/* SPDX-License-Identifier: Apache-2.0 */
/* Records a fault and restarts the device. The record survives in .noinit, and the host reads it after the restart. */
#include "fault.h"

#include <stdbool.h>

#include "aboard/core.h"
#include "aboard/port.h"
#include "image.h"
#include "registers.h"

#define FRAME_WORDS 8        /* r0-r3, r12, lr, pc, xpsr, as the core stacks them */
#define FPU_FRAME_WORDS 26   /* including the FPU registers */
#define ALIGNED (1u << 9)    /* in xpsr: the core inserted a word to align the frame */
#define STACKING 0x00101010u /* in CFSR: STKOF, STKERR, MSTKERR */
#define NO_FPU (1u << 4)     /* in EXC_RETURN */
#define SP FRAME_WORDS       /* index in the record; the callers follow */

void aboard_fault_entry(void);
void aboard_fault_record(const uint32_t *frame, uint32_t exc_return);

/* Reads the stack pointer at the fault. If the stack has no room for the handler, the handler uses the stack from the
 * top again: after an overflow, the contents at the other end are more useful. */
__attribute__((naked)) void aboard_fault_entry(void) {
    __asm volatile("mrs r0, msp\n\t"
                   "mov r1, lr\n\t"
                   "ldr r2, =__stack_bottom + 256\n\t"
                   "cmp r0, r2\n\t"
                   "bhs 1f\n\t"
                   "ldr r2, =__stack_top\n\t"
                   "mov sp, r2\n"
                   "1:\n\t"
                   "ldr r2, =aboard_fault_record\n\t"
                   "bx r2\n\t"
                   ".ltorg");
}

/* CFSR and the address registers exist in Armv7-M and later. */
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

/* Returns the stack pointer before the core pushed the exception frame. */
static const uint32_t *below(const uint32_t *frame, uint32_t exc_return) {
    const uint32_t *sp = frame + ((exc_return & NO_FPU) != 0 ? FRAME_WORDS : FPU_FRAME_WORDS);
    return (frame[FRAME_WORDS - 1] & ALIGNED) != 0 ? sp + 1 : sp;
}

/* After a stack overflow there is often no exception frame, because the stack had no room. */
static bool is_stacked(const aboard_fault_t *fault, const uint32_t *frame) {
    const uintptr_t at = (uintptr_t)frame;
    return at >= (uintptr_t)__stack_bottom && at + FRAME_WORDS * sizeof *frame <= (uintptr_t)__stack_top &&
           (fault->status & STACKING) == 0;
}

__attribute__((used)) void aboard_fault_record(const uint32_t *frame, uint32_t exc_return) {
    uint32_t exception;
    __asm volatile("mrs %0, ipsr" : "=r"(exception));
    aboard_fault_t *fault = aboard_fault_begin(exception);
    record_cause(fault);
    const uint32_t *sp = frame;
    if (is_stacked(fault, frame)) {
        for (uint32_t i = 0; i < FRAME_WORDS; i++) {
            fault->registers[i] = frame[i];
        }
        sp = below(frame, exc_return);
    }
    fault->registers[SP] = (uint32_t)(uintptr_t)sp;
    aboard_fault_callers(fault->registers + SP + 1, ABOARD_FAULT_REGISTERS - SP - 1, sp);
    aboard_port_reset();
}

void aboard_core_fault(uint32_t core, const aboard_core_fault_t *fault) {
    aboard_fault_t *const record = aboard_fault_begin(core << ABOARD_FAULT_CORE_SHIFT | fault->exception);
    for (uint32_t i = 0; i < ABOARD_CORE_FRAME_WORDS; i++) {
        record->registers[i] = fault->frame[i];
    }
    record->status = fault->status;
    record->address = fault->address;
}
