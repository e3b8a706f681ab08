/* SPDX-License-Identifier: Apache-2.0 */
/* Reset and traps of RISC-V in machine mode. The image starts with the first instruction of this file. */
#include "aboard/config.h"
#include "aboard/port.h"
#include "arch.h"
#include "counter.h"
#include "fault.h"
#include "image.h"
#include "interrupts.h"
#include "setup.h"
#include "uart.h"

#define TRAP_REGISTERS 9 /* ra, sp, a0-a5, pc; in the record, the callers follow */
#define SP 1

/* Some cores always add four times the number of an interrupt to the address of its handler, and ignore the lower eight
 * bits of mtvec. There, every entry of a table leads to the one handler. */
#ifdef ABOARD_IRQ_VECTORED
#define TRAPS "aboard_trap_table"
#else
#define TRAPS "aboard_trap_entry"
#endif

void aboard_reset(void);
void aboard_trap_entry(void);
void aboard_trap_table(void);
void aboard_start(void);
void aboard_interrupt(void);
void aboard_fault_record(void);

uint32_t aboard_trap_registers[TRAP_REGISTERS] __attribute__((section(".noinit")));

/* Sets the trap vector first, so that every later fault reaches the handler. */
__attribute__((naked, section(".vectors"), used)) void aboard_reset(void) {
    __asm volatile("csrci mstatus, 8\n\t"
                   "la t0, " TRAPS "\n\t"
                   "csrw mtvec, t0\n\t"
                   "la sp, __stack_top\n\t"
                   "la t0, aboard_start\n\t"
                   "jr t0");
}

__attribute__((used, noreturn)) void aboard_start(void) {
#if defined(__riscv_flen)
    __asm volatile("csrs mstatus, %0" ::"r"(1u << 13)); /* FS: the FPU is on */
#endif
#ifdef ABOARD_VECTORS
    __asm volatile("csrs mstatus, %0" ::"r"(1u << 9)); /* VS: vectors are on */
#endif
#ifdef ABOARD_SETUP
    aboard_board_setup();
#endif
    aboard_image_init();
    (void)main();
    for (;;) {
    }
}

#ifdef ABOARD_IRQ_VECTORED
__attribute__((naked, aligned(256))) void aboard_trap_table(void) {
    __asm volatile(".option push\n\t"
                   ".option norvc\n\t"
                   ".rept 32\n\t"
                   "j aboard_trap_entry\n\t"
                   ".endr\n\t"
                   ".option pop");
}
#endif

/* Interrupts call a C function. For a fault, the entry saves the registers without using the stack. If the stack has no
 * room for the handler, the handler uses the stack from the top again. */
__attribute__((naked, aligned(4))) void aboard_trap_entry(void) {
    __asm volatile("csrw mscratch, t0\n\t"
                   "csrr t0, mcause\n\t"
                   "bgez t0, 1f\n\t"
                   "csrr t0, mscratch\n\t"
                   "j aboard_interrupt\n"
                   "1:\n\t"
                   "la t0, aboard_trap_registers\n\t"
                   "sw ra, 0(t0)\n\t"
                   "sw sp, 4(t0)\n\t"
                   "sw a0, 8(t0)\n\t"
                   "sw a1, 12(t0)\n\t"
                   "sw a2, 16(t0)\n\t"
                   "sw a3, 20(t0)\n\t"
                   "sw a4, 24(t0)\n\t"
                   "sw a5, 28(t0)\n\t"
                   "csrr a0, mepc\n\t"
                   "sw a0, 32(t0)\n\t"
                   "la t0, __stack_bottom + 256\n\t"
                   "bltu sp, t0, 2f\n\t"
                   "la t0, __stack_top\n\t"
                   "bgeu t0, sp, 3f\n"
                   "2:\n\t"
                   "la sp, __stack_top\n"
                   "3:\n\t"
                   "j aboard_fault_record");
}

__attribute__((interrupt("machine"), used)) void aboard_interrupt(void) {
    const uint32_t number = aboard_interrupts_claim();
    if (number == ABOARD_UART_IRQ) {
        aboard_uart_interrupt();
    }
    aboard_interrupts_complete(number);
}

__attribute__((used)) void aboard_fault_record(void) {
    uint32_t cause;
    uint32_t address;
    __asm volatile("csrr %0, mcause" : "=r"(cause));
    __asm volatile("csrr %0, mtval" : "=r"(address));
    aboard_fault_t *fault = aboard_fault_begin(cause + 1);
    for (uint32_t i = 0; i < TRAP_REGISTERS; i++) {
        fault->registers[i] = aboard_trap_registers[i];
    }
    const uintptr_t sp = aboard_trap_registers[SP];
    aboard_fault_callers(fault->registers + TRAP_REGISTERS, ABOARD_FAULT_REGISTERS - TRAP_REGISTERS,
                         (const uint32_t *)sp);
    fault->status = cause;
    fault->address = address;
    aboard_port_reset();
}
