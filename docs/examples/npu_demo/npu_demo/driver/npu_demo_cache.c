/* SPDX-License-Identifier: Apache-2.0 */
#include "npu_demo_cache.h"

#define DCIMVAC 0u
#define DCCMVAC 12u

/* Orders what was stored before with what the device, or the cache, does after. */
static void barrier(void) {
#if defined(__ARM_ARCH)
    __asm volatile("dsb" ::: "memory");
#else
    __sync_synchronize();
#endif
}

static void for_lines(uintptr_t operation, const void *start, uint32_t bytes) {
    volatile uint32_t *const reg = (volatile uint32_t *)((uintptr_t)NPU_DEMO_CACHE_REGISTERS + operation);
    const uintptr_t end = (uintptr_t)start + bytes;
    barrier();
    for (uintptr_t line = (uintptr_t)start & ~(uintptr_t)(NPU_DEMO_CACHE_LINE - 1u); line < end;
         line += NPU_DEMO_CACHE_LINE) {
        *reg = (uint32_t)line;
    }
    barrier();
}

void npu_demo_cache_clean(const void *start, uint32_t bytes) {
    for_lines(DCCMVAC, start, bytes);
}

void npu_demo_cache_invalidate(const void *start, uint32_t bytes) {
    for_lines(DCIMVAC, start, bytes);
}
