/* SPDX-License-Identifier: Apache-2.0 */
/* Start, output and end of a program on an emulated core, by semihosting. */
#include <stdint.h>

#include "cases.h"

#define SYS_WRITE0 0x04
#define SYS_EXIT 0x18
#define STOPPED 0x20026u
#define FAILED 0x20023u

int main(void);
void start(void);
void stuck(void);

#if defined(__riscv)

static void ask(uintptr_t request, uintptr_t argument) {
    register uintptr_t a0 __asm__("a0") = request;
    register uintptr_t a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
}

/* The upper bits of mstatus.FS: the FPU is on. */
__asm__(".section .vectors, \"ax\"\n.option arch, +zicsr\n.globl _start\n_start:\n"
        "la sp, stack_top\n"
        "li t0, 0x6000\ncsrs mstatus, t0\n"
        "la t0, stuck\ncsrw mtvec, t0\n"
        "call start\n.text");

#else

extern uint32_t stack_top[];
__attribute__((alias("start"))) void _start(void);
/* Code of zig names it; nothing is unwound. */
void __aeabi_unwind_cpp_pr0(void);
void __aeabi_unwind_cpp_pr0(void) {}

static void ask(uintptr_t request, uintptr_t argument) {
    register uintptr_t r0 __asm__("r0") = request;
    register uintptr_t r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top,           (const void *)start, (const void *)stuck, (const void *)stuck,
    (const void *)stuck, (const void *)stuck, (const void *)stuck, (const void *)stuck,
};

#endif

void say(const char *text) {
    ask(SYS_WRITE0, (uintptr_t)text);
}

void finish(int code) {
    ask(SYS_EXIT, code == 0 ? STOPPED : FAILED);
}

__attribute__((aligned(4))) void stuck(void) {
    finish(2);
}

void start(void) {
#if !defined(__riscv)
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: coprocessors 10 and 11, the FPU and Helium */
    __asm__ volatile("" ::: "memory");
#endif
    finish(main());
}
