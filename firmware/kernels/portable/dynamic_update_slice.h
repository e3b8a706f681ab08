/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/dynamic_update_slice.h
 * A part of a tensor replaced or copied, at a place that is data of a run. All tensors lie in memory as a whole,
 * without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_DYNAMIC_UPDATE_SLICE_H
#define ABOARD_KERNELS_PORTABLE_DYNAMIC_UPDATE_SLICE_H

#include "gather.h"

/** Axes, at most. */
#define ABOARD_UPDATE_AXES 6

/** Parameters of both kernels; the update of aboard_dynamic_slice is the part that is copied. */
typedef struct {
    int32_t element_bytes;              /**< 1, 2, 4 or 8. */
    int32_t axes;                       /**< From 1 to ABOARD_UPDATE_AXES. */
    int32_t index_bytes;                /**< Of an index of the place: 4 or 8. */
    int32_t extent[ABOARD_UPDATE_AXES]; /**< Of the operand. */
    int32_t update[ABOARD_UPDATE_AXES]; /**< Extents of the update, none larger. */
} aboard_dynamic_update_slice_t;

/** Returns where the update begins on an axis: the given index, moved so that the update lies within the axis. */
ABOARD_INLINE int32_t aboard_update_start(const aboard_dynamic_update_slice_t *p, const void *starts, int32_t axis) {
    const int32_t most = p->extent[axis] - p->update[axis];
    const int64_t start = p->index_bytes == 8 ? ((const int64_t *)starts)[axis] : ((const int32_t *)starts)[axis];
    return start < 0 ? 0 : start > most ? most : (int32_t)start;
}

/** Returns the number of the element with which run `r` of the update begins; runs are counted in the update's order.
 */
ABOARD_INLINE int32_t aboard_update_run(const aboard_dynamic_update_slice_t *p, const void *starts, int32_t r) {
    int32_t rest = r;
    int32_t element = aboard_update_start(p, starts, p->axes - 1);
    int32_t stride = p->extent[p->axes - 1];
    for (int32_t axis = p->axes - 2; axis >= 0; --axis) {
        element += (aboard_update_start(p, starts, axis) + rest % p->update[axis]) * stride;
        rest /= p->update[axis];
        stride *= p->extent[axis];
    }
    return element;
}

/**
 * Writes the operand with the update in its place.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param update       What is written into it.
 * @param starts       Where the update begins: an index for each axis, any values. They are clamped as the reference
 *                     does, so that nothing is written outside of the result.
 * @param out          Result; may be the operand's memory, and must not be the update's.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_dynamic_update_slice(const aboard_dynamic_update_slice_t *p, const void *in,
                                               const void *update, const void *starts, void *out, int32_t first,
                                               int32_t last) {
    const int32_t inner = p->axes - 1;
    const int32_t run = p->update[inner];
    int32_t elements = 1;
    int32_t runs = 1;
    for (int32_t axis = 0; axis < p->axes; ++axis) {
        elements *= p->extent[axis];
        runs *= axis < inner ? p->update[axis] : 1;
    }
    (void)first;
    (void)last;
    if (in != out) {
        aboard_copy_run(out, in, elements, p->element_bytes);
    }
    for (int32_t r = 0; r < runs; ++r) {
        const int32_t element = aboard_update_run(p, starts, r);
        aboard_copy_run((uint8_t *)out + element * p->element_bytes,
                        (const uint8_t *)update + r * run * p->element_bytes, run, p->element_bytes);
    }
}

/**
 * Copies a part of the operand.
 *
 * @param p            Parameters.
 * @param in           Operand.
 * @param starts       Where the part begins: an index for each axis, any values, clamped so that nothing is read
 * outside of the operand.
 * @param out          Result; must not be the operand's memory.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_dynamic_slice(const aboard_dynamic_update_slice_t *p, const void *in, const void *starts,
                                        void *out, int32_t first, int32_t last) {
    const int32_t run = p->update[p->axes - 1];
    int32_t runs = 1;
    for (int32_t axis = 0; axis < p->axes - 1; ++axis) {
        runs *= p->update[axis];
    }
    (void)first;
    (void)last;
    for (int32_t r = 0; r < runs; ++r) {
        aboard_copy_run((uint8_t *)out + r * run * p->element_bytes,
                        (const uint8_t *)in + aboard_update_run(p, starts, r) * p->element_bytes, run,
                        p->element_bytes);
    }
}

#endif
