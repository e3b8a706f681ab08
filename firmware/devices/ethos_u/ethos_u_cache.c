/* SPDX-License-Identifier: Apache-2.0 */
#include "ethos_u.h"

#define WEAK __attribute__((weak))

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'

/* Registers of the Cortex-M architecture: configuration, and maintenance of the data cache by address. */
#define CCR (*(volatile const uint32_t *)0xE000ED14u)
#define CCR_DATA_CACHE (1u << 16)
#define DCIMVAC ((volatile uint32_t *)0xE000EF5Cu)
#define DCCIMVAC ((volatile uint32_t *)0xE000EF70u)
#define LINE 32u

static void for_lines(volatile uint32_t *operation, const void *start, uint32_t bytes) {
    if ((CCR & CCR_DATA_CACHE) == 0u) {
        return;
    }
    const uintptr_t end = (uintptr_t)start + bytes;
    __asm volatile("dsb" ::: "memory");
    for (uintptr_t line = (uintptr_t)start & ~(uintptr_t)(LINE - 1u); line < end; line += LINE) {
        *operation = (uint32_t)line;
    }
    __asm volatile("dsb" ::: "memory");
}

/* Lines are whole, so that what is beside a range is written to memory too, and not lost by the later invalidation. */
WEAK void ethos_u_clean(const void *start, uint32_t bytes) {
    for_lines(DCCIMVAC, start, bytes);
}

WEAK void ethos_u_invalidate(const void *start, uint32_t bytes) {
    for_lines(DCIMVAC, start, bytes);
}

#else

WEAK void ethos_u_clean(const void *start, uint32_t bytes) {
    (void)start;
    (void)bytes;
}

WEAK void ethos_u_invalidate(const void *start, uint32_t bytes) {
    (void)start;
    (void)bytes;
}

#endif
