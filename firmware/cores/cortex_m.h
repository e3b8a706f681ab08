/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cortex_m.h
 * Calls to another core, the side of a Cortex-M that serves them: vector table, stack, start, faults, call loop.
 *
 * A generated file that the other core executes includes this file once, and defines
 * - ABOARD_CORE_VECTORS and ABOARD_CORE_MAILBOX: names of the vector table and the mailbox;
 * - ABOARD_CORE_STACK: section of its stack, in its own memory bank;
 * - ABOARD_CORE_STACK_BYTES: size of the stack, a multiple of 16.
 */
#ifndef ABOARD_CORES_CORTEX_M_H
#define ABOARD_CORES_CORTEX_M_H

#include <stdbool.h>

#include "aboard/config.h"
#include "aboard/core.h"

/* The architecture requires a table address that is a multiple of the size of the table, at least 128 bytes. */
#define ABOARD_CORE_EXCEPTIONS 16
#define ABOARD_CORE_REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define ABOARD_CORE_STKOF (1u << 20) /* in CFSR: the stack overflowed, and nothing was stacked */

extern aboard_core_mailbox_t ABOARD_CORE_MAILBOX;
extern const aboard_core_vector_t ABOARD_CORE_VECTORS[ABOARD_CORE_EXCEPTIONS];

__attribute__((used)) static uint32_t core_stack[ABOARD_CORE_STACK_BYTES / 4] ABOARD_ALIGNED(16)
    ABOARD_SECTION(ABOARD_CORE_STACK);

ABOARD_NOINLINE __attribute__((noreturn)) static void core_serve(void) {
    aboard_core_mailbox_t *const mailbox = &ABOARD_CORE_MAILBOX;
    for (;;) {
        while (mailbox->request == mailbox->reply) {
            /* Written in every round: a reset of the caller may clear the mailbox and leave this core running, as in
             * QEMU. The core is then ready for the next call. */
            mailbox->alive = 1;
            __asm volatile("dsb\n\twfe" ::: "memory");
        }
        __asm volatile("dmb" ::: "memory"); /* function and arguments are read after the request */
        mailbox->status = mailbox->function(mailbox->arguments);
        __asm volatile("dmb" ::: "memory"); /* results are visible before the reply */
        mailbox->reply = mailbox->request;
        __asm volatile("dsb\n\tsev" ::: "memory");
    }
}

/* Separate from core_serve, so that no code uses the FPU before the FPU is on. */
__attribute__((noreturn)) static void core_reset(void) {
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
    __asm volatile("msr msplim, %0" ::"r"(core_stack)); /* a stack overflow is a fault */
#endif
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    ABOARD_CORE_REGISTER(0xE000ED88u) |= 0xFu << 20; /* CPACR: coprocessors 10 and 11, which are the FPU and MVE */
    __asm volatile("dsb\n\tisb" ::: "memory");
#endif
    core_serve();
}

/* Reads the cause and the address of the fault. */
static void core_inspect(const uint32_t *frame, aboard_core_fault_t *fault) {
    const uintptr_t at = (uintptr_t)frame;
    const uintptr_t end = (uintptr_t)core_stack + sizeof core_stack;
    *fault = (aboard_core_fault_t){0};
    __asm volatile("mrs %0, ipsr" : "=r"(fault->exception));
#if __ARM_ARCH >= 7 && !defined(__ARM_ARCH_8M_BASE__)
    fault->status = ABOARD_CORE_REGISTER(0xE000ED28u); /* CFSR */
    if ((fault->status & 0x8000u) != 0) {              /* BFARVALID */
        fault->address = ABOARD_CORE_REGISTER(0xE000ED38u);
    } else if ((fault->status & 0x80u) != 0) { /* MMARVALID */
        fault->address = ABOARD_CORE_REGISTER(0xE000ED34u);
    }
#endif
    const bool overflow = (fault->status & ABOARD_CORE_STKOF) != 0;
    const bool inside = at >= (uintptr_t)core_stack && at + ABOARD_CORE_FRAME_WORDS * sizeof *frame <= end;
    for (uint32_t i = 0; i < ABOARD_CORE_FRAME_WORDS && inside && !overflow; i++) {
        fault->frame[i] = frame[i];
    }
}

__attribute__((noreturn, used)) static void core_record(const uint32_t *frame) {
    aboard_core_mailbox_t *const mailbox = &ABOARD_CORE_MAILBOX;
    aboard_core_fault_t fault;
    core_inspect(frame, &fault);
    for (;;) {
        if (mailbox->faulted == 0) { /* 0 also after a reset of the caller alone */
            mailbox->fault = fault;
            __asm volatile("dmb" ::: "memory");
            mailbox->faulted = 1;
            __asm volatile("dsb\n\tsev" ::: "memory");
        }
        __asm volatile("wfe" ::: "memory");
    }
}

/* Reads the stack pointer at the fault. If the stack has no room for the handler, the handler uses the stack from the
 * top again, because its contents are not needed any more. */
__attribute__((naked)) static void core_fault(void) {
    __asm volatile("mrs r0, msp\n\t"
                   "ldr r1, =core_stack + 256\n\t"
                   "cmp r0, r1\n\t"
                   "bhs 1f\n\t"
                   "ldr r1, =core_stack + %c0\n\t"
                   "mov sp, r1\n"
                   "1:\n\t"
                   "ldr r1, =core_record\n\t"
                   "bx r1\n\t"
                   ".ltorg" ::"i"(ABOARD_CORE_STACK_BYTES));
}

/* Exceptions without an entry are never enabled. Disabled configurable faults escalate to HardFault. */
ABOARD_ALIGNED(128)
const aboard_core_vector_t ABOARD_CORE_VECTORS[ABOARD_CORE_EXCEPTIONS] = {
    [0] = {.address = core_stack + ABOARD_CORE_STACK_BYTES / 4},
    [1] = {.handler = core_reset},
    [2] = {.handler = core_fault}, /* NMI */
    [3] = {.handler = core_fault}, /* HardFault */
};

#endif
