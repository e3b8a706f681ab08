/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/circular_buffer.h
 * The last inputs of a stream, the oldest first.
 */
#ifndef ABOARD_KERNELS_PORTABLE_CIRCULAR_BUFFER_H
#define ABOARD_KERNELS_PORTABLE_CIRCULAR_BUFFER_H

#include <stdint.h>
#include <string.h>

#include "aboard/config.h"

/** Parameters of aboard_circular_buffer_s8. */
typedef struct {
    int32_t slot; /**< Elements of an input. */
    int32_t kept; /**< Elements of the inputs that stay. */
} aboard_circular_buffer_t;

/**
 * Drops the oldest input and appends the newest.
 *
 * @param p            Parameters.
 * @param in           The newest input. In other memory than the result.
 * @param before       Result of the run before.
 * @param out          Result: may be the memory of `before`.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_circular_buffer_s8(const aboard_circular_buffer_t *p, const int8_t *in, const int8_t *before,
                                             int8_t *out, int32_t first, int32_t last) {
    (void)first;
    (void)last;
    memmove(out, before + p->slot, (size_t)p->kept);
    memcpy(out + p->kept, in, (size_t)p->slot);
}

#endif
