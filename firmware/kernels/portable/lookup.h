/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/lookup.h
 * Functions of one byte: every element of the result is read from a table of 256 bytes that the host has computed.
 */
#ifndef ABOARD_KERNELS_PORTABLE_LOOKUP_H
#define ABOARD_KERNELS_PORTABLE_LOOKUP_H

#include <stdint.h>

#include "aboard/config.h"
#include "aboard/view.h"

/** Parameters of aboard_lookup. Both views have the same rows, cols and channels. */
typedef struct {
    aboard_view_t in;
    aboard_view_t out;
} aboard_lookup_t;

/**
 * Computes out[i] = table[in[i]], with elements read as unsigned bytes.
 *
 * @param p            Parameters.
 * @param in           Operand. Any view.
 * @param out          Result. Any view; may share the operand's memory if both views are equal.
 * @param table        256 results, by operand.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_lookup(const aboard_lookup_t *p, const void *in, void *out, const uint8_t *table,
                                 int32_t first, int32_t last) {
    for (int32_t r = first; r < last; ++r) {
        const uint8_t *x = (const uint8_t *)in + aboard_row_offset(&p->in, r);
        uint8_t *y = (uint8_t *)out + aboard_row_offset(&p->out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            ABOARD_UNROLL(4)
            for (int32_t c = 0; c < p->out.channels; ++c) {
                y[c] = table[x[c]];
            }
            x += p->in.pixel_stride;
            y += p->out.pixel_stride;
        }
    }
}

#endif
