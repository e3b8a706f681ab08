/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/softmax.h
 * Softmax of int8 with Helium: the exponentials of four channels are gathered from the table at once.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_SOFTMAX_H
#define ABOARD_KERNELS_ARM_MVE_SOFTMAX_H

#include <stdint.h>

#include "../portable/softmax.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "helium.h"

#if ABOARD_MVE_ASM

/** Largest of `count` elements. */
ABOARD_INLINE int32_t aboard_softmax_largest_mve(const int8_t *x, int32_t count) {
    int32_t largest = INT8_MIN;
    for (int32_t c = 0; c < count; c += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)(count - c));
        largest = vmaxvq_p_s8((int8_t)largest, vldrbq_z_s8(x + c, some), some);
    }
    return largest;
}

/** Exponentials of four channels, those of `some`; 0 for others, and beyond the table. */
ABOARD_INLINE int32x4_t aboard_softmax_powers_mve(const aboard_softmax_s8_t *p, const int8_t *x, int32_t largest,
                                                  const int32_t *table, mve_pred16_t some) {
    const int32x4_t steps = vsubq_s32(vdupq_n_s32(largest), vldrbq_z_s32(x, some));
    if (p->steps < 256) {
        some = vcmpltq_m_n_s32(steps, p->steps, some);
    }
    return vldrwq_gather_shifted_offset_z_s32(table, (uint32x4_t)steps, some);
}

/** Softmax of one pixel: as aboard_softmax_pixel_s8. */
ABOARD_INLINE void aboard_softmax_pixel_mve(const aboard_softmax_s8_t *p, const int8_t *x, void *y,
                                            const int32_t *table, int32_t bits) {
    const int32_t channels = p->out.channels;
    const int32_t largest = aboard_softmax_largest_mve(x, channels);
    uint32_t sum = 0; /* Twelve integer bits. */
    for (int32_t c = 0; c < channels; c += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - c));
        const int32x4_t powers = aboard_softmax_powers_mve(p, x + c, largest, table, some);
        sum = vaddvaq_u32(sum, (uint32x4_t)vrshrq_n_s32(powers, 12));
    }
    const aboard_softmax_scale_t scale = aboard_softmax_scale(sum, bits);
    for (int32_t c = 0; c < channels; c += 4) {
        const mve_pred16_t some = vctp32q((uint32_t)(channels - c));
        int32x4_t result = aboard_softmax_powers_mve(p, x + c, largest, table, some);
        result = vrshlq_n_s32(vqrdmulhq_n_s32(result, scale.reciprocal), -scale.exponent);
        if (bits == 8) {
            result = vminq_s32(vaddq_n_s32(result, INT8_MIN), vdupq_n_s32(INT8_MAX));
            vstrbq_p_s32((int8_t *)y + c, result, some);
        } else {
            result = vminq_s32(vaddq_n_s32(result, INT16_MIN), vdupq_n_s32(INT16_MAX));
            vstrhq_p_s32((int16_t *)y + c, result, some);
        }
    }
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_softmax_pixel_mve(const aboard_softmax_s8_t *p, const int8_t *x, void *y,
                                            const int32_t *table, int32_t bits) {
    aboard_softmax_pixel_s8(p, x, y, table, bits);
}

#endif

ABOARD_SOFTMAX_S8(aboard_softmax_mve, aboard_softmax_pixel_mve, s8, int8_t, 8)
ABOARD_SOFTMAX_S8(aboard_softmax_s16_mve, aboard_softmax_pixel_mve, s16, int16_t, 16)

#endif
