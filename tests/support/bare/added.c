/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers call from code that they add to functions: canaries, counters of coverage, profilers. Calls change the
 * registers that a function may change. */

#include <stdint.h>

#if defined(__arm__)
#define CHANGED                                                                                                        \
    __asm__ volatile("mov r0, #1\n\tmov r1, #1\n\tmov r2, #1\n\tmov r3, #1" ::: "r0", "r1", "r2", "r3", "ip")
#elif defined(__riscv)
#define CHANGED __asm__ volatile("li a0, 1\n\tli a1, 1\n\tli a2, 1\n\tli t0, 1" ::: "a0", "a1", "a2", "t0", "t1", "t2")
#endif

uintptr_t __stack_chk_guard = 0x5aa5f00f;

void __stack_chk_fail(void);
void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
void __sanitizer_cov_trace_pc(void);
void __gcov_init(void *info);
void __gcov_exit(void);
void __gcov_merge_add(void *counters, unsigned count);

void __stack_chk_fail(void) {
    for (;;) {
    }
}

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)function;
    (void)caller;
    CHANGED;
}

void __cyg_profile_func_exit(void *function, void *caller) {
    (void)function;
    (void)caller;
    CHANGED;
}

void __sanitizer_cov_trace_pc(void) {
    CHANGED;
}

void __gcov_init(void *info) {
    (void)info;
}

void __gcov_exit(void) {}

void __gcov_merge_add(void *counters, unsigned count) {
    (void)counters;
    (void)count;
}
