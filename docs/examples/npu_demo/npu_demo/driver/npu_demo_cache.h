/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file npu_demo_cache.h
 * Upkeep of the data cache of a Cortex-M7 or Cortex-M55, by address. On other cores call none of it.
 *
 * Lines are whole: what else lies in the first and last line of a range is cleaned or invalidated with it. So a range
 * that a device will write is cleaned before, and nothing in its lines is written until it has been invalidated.
 */
#ifndef NPU_DEMO_CACHE_H
#define NPU_DEMO_CACHE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Address of the registers of cache maintenance (DCIMVAC at +0, DCCMVAC at +12). Tests give another. */
#ifndef NPU_DEMO_CACHE_REGISTERS
#define NPU_DEMO_CACHE_REGISTERS 0xE000EF5Cu
#endif

/** Bytes of a cache line. */
#define NPU_DEMO_CACHE_LINE 32u

/** Writes to memory what the cache holds of a range, so that a device can read it. */
void npu_demo_cache_clean(const void *start, uint32_t bytes);

/** Drops what the cache holds of a range, so that the CPU reads what a device has written. */
void npu_demo_cache_invalidate(const void *start, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
