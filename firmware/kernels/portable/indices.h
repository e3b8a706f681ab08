/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/indices.h
 * Gathers by tensors of indices. All tensors lie in memory as a whole, without gaps.
 *
 * Indices are data of a run: a caller or a line may set any value. An index below 0 stands for 0, one behind its axis
 * for the last of the axis. So no index reads outside of the operand, and a run has no way to fail.
 */
#ifndef ABOARD_KERNELS_PORTABLE_INDICES_H
#define ABOARD_KERNELS_PORTABLE_INDICES_H

#include "gather.h"

/** Indices of a tuple, at most. */
#define ABOARD_MAX_INDICES 5

/** Returns an index within [0, extent). */
ABOARD_INLINE int32_t aboard_index_within(int32_t index, int32_t extent) {
    return index < 0 ? 0 : index >= extent ? extent - 1 : index;
}

/** Parameters of aboard_take. The operand has the shape {batches, outer, extent, run}. */
typedef struct {
    int32_t element_bytes; /**< 1, 2, 4 or 8. */
    int32_t batches;
    int32_t outer;
    int32_t extent;  /**< Of the axis that indices count. */
    int32_t indices; /**< For each batch. */
    int32_t run;     /**< Elements behind the axis. */
} aboard_take_t;

/**
 * Computes out[b][o][i] = in[b][o][indices[b][i]], where an element is a run.
 *
 * @param p            Parameters.
 * @param in           Operand, {batches, outer, extent, run}.
 * @param indices      {batches, indices}; clamped to the axis.
 * @param out          Result, another memory than the operands, {batches, outer, indices, run}.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_take(const aboard_take_t *p, const void *in, const int32_t *indices, void *out, int32_t first,
                               int32_t last) {
    const int32_t bytes = p->run * p->element_bytes;
    const uint8_t *from = in;
    uint8_t *to = out;
    (void)first;
    (void)last;
    for (int32_t b = 0; b < p->batches; ++b) {
        for (int32_t o = 0; o < p->outer; ++o) {
            for (int32_t i = 0; i < p->indices; ++i) {
                const int32_t index = aboard_index_within(indices[b * p->indices + i], p->extent);
                aboard_copy_run(to, from + index * bytes, p->run, p->element_bytes);
                to += bytes;
            }
            from += p->extent * bytes;
        }
    }
}

/** Parameters of aboard_take_tuples. */
typedef struct {
    int32_t element_bytes;              /**< 1, 2, 4 or 8. */
    int32_t tuples;                     /**< How many runs are copied. */
    int32_t length;                     /**< Indices of a tuple, at most ABOARD_MAX_INDICES. */
    int32_t extent[ABOARD_MAX_INDICES]; /**< Of the axis that each index of a tuple counts. */
    int32_t count[ABOARD_MAX_INDICES];  /**< Elements from an index of that axis to the next. */
    int32_t run;                        /**< Elements behind the last of these axes. */
} aboard_take_tuples_t;

/**
 * Computes out[t] = in[indices[t][0]][indices[t][1]]..., where an element is a run.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param indices      {tuples, length}; each clamped to its axis.
 * @param out          Result, another memory than the operands, {tuples, run}.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_take_tuples(const aboard_take_tuples_t *p, const void *in, const int32_t *indices, void *out,
                                      int32_t first, int32_t last) {
    const int32_t bytes = p->run * p->element_bytes;
    const uint8_t *from = in;
    uint8_t *to = out;
    (void)first;
    (void)last;
    for (int32_t t = 0; t < p->tuples; ++t) {
        int32_t element = 0;
        for (int32_t i = 0; i < p->length; ++i) {
            element += aboard_index_within(indices[t * p->length + i], p->extent[i]) * p->count[i];
        }
        aboard_copy_run(to + t * bytes, from + element * p->element_bytes, p->run, p->element_bytes);
    }
}

#endif
