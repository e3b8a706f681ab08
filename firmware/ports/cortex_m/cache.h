/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cache.h
 * Caches of Cortex-M7 (Armv7-M Architecture Reference Manual, B2.2), for SoC files with `caches = true`. For other
 * SoCs,
 * these functions do nothing. No driver uses DMA, so no other code has to maintain the caches.
 */
#ifndef ABOARD_CACHE_H
#define ABOARD_CACHE_H

#include "aboard_board.h"
#include "registers.h"

#ifdef ABOARD_CACHES

#define ABOARD_CCR ABOARD_REG32(0xE000ED14u)
#define ABOARD_CCSIDR ABOARD_REG32(0xE000ED80u)
#define ABOARD_CSSELR ABOARD_REG32(0xE000ED84u)
#define ABOARD_ICIALLU ABOARD_REG32(0xE000EF50u)
#define ABOARD_DCISW ABOARD_REG32(0xE000EF60u)
#define ABOARD_DCCSW ABOARD_REG32(0xE000EF6Cu)
#define ABOARD_CCR_DC (1u << 16)
#define ABOARD_CCR_IC (1u << 17)
#define ABOARD_WAY_SHIFT 30 /* Cortex-M7: four ways of lines of 32 bytes */
#define ABOARD_SET_SHIFT 5

/** Applies an operation by set and way (a register such as DCISW) to every line of the data cache. */
static inline void aboard_cache_each(volatile uint32_t *operation) {
    ABOARD_CSSELR = 0; /* the data cache of level 1 */
    __asm volatile("dsb" ::: "memory");
    const uint32_t size = ABOARD_CCSIDR;
    const uint32_t sets = (size >> 13 & 0x7FFFu) + 1;
    const uint32_t ways = (size >> 3 & 0x3FFu) + 1;
    for (uint32_t set = 0; set < sets; set++) {
        for (uint32_t way = 0; way < ways; way++) {
            *operation = way << ABOARD_WAY_SHIFT | set << ABOARD_SET_SHIFT;
        }
    }
    __asm volatile("dsb\n\tisb" ::: "memory");
}

#endif

/** Invalidates and enables both caches. Their contents are undefined after a reset. */
static inline void aboard_caches_enable(void) {
#ifdef ABOARD_CACHES
    ABOARD_ICIALLU = 0;
    aboard_cache_each(&ABOARD_DCISW);
    ABOARD_CCR |= ABOARD_CCR_IC | ABOARD_CCR_DC;
    __asm volatile("dsb\n\tisb" ::: "memory");
#endif
}

/** Writes the data cache back to memory, so that the data survives a reset. */
static inline void aboard_caches_clean(void) {
#ifdef ABOARD_CACHES
    aboard_cache_each(&ABOARD_DCCSW);
#endif
}

#endif
