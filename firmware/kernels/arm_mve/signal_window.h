/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/signal_window.h
 * Window, scale and energy of an audio front end with Helium, eight elements at once; results as those of
 * portable/signal_window.h.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_SIGNAL_WINDOW_H
#define ABOARD_KERNELS_ARM_MVE_SIGNAL_WINDOW_H

#include <stdint.h>
#include <string.h>

#include "../portable/signal_window.h"
#include "aboard/config.h"
#include "helium.h"
#include "rescale.h"

#if ABOARD_MVE_ASM

/** Elements times weights, shifted to the right and saturated. */
ABOARD_INLINE int16x8_t aboard_signal_window_mve_eight(int16x8_t x, int16x8_t weights, int32_t shift) {
    return aboard_mve_halfwords(vshlq_r_s32(vmullbq_int_s16(x, weights), -shift),
                                vshlq_r_s32(vmulltq_int_s16(x, weights), -shift));
}

/** As aboard_signal_window. */
ABOARD_INLINE void aboard_signal_window_mve(const aboard_signal_window_t *p, const int16_t *in, const int16_t *weights,
                                            int16_t *out, int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    for (int32_t i = 0; i < p->elements; i += p->length) {
        int32_t j = 0;
        for (; j + 8 <= p->length; j += 8) {
            vst1q_s16(out + i + j,
                      aboard_signal_window_mve_eight(vld1q_s16(in + i + j), vld1q_s16(weights + j), p->shift));
        }
        if (j < p->length) {
            const mve_pred16_t some = vctp16q((uint32_t)(p->length - j));
            const int16x8_t x = vldrhq_z_s16(in + i + j, some), w = vldrhq_z_s16(weights + j, some);
            vstrhq_p_s16(out + i + j, aboard_signal_window_mve_eight(x, w, p->shift), some);
        }
    }
}

/** As aboard_signal_fft_auto_scale. */
ABOARD_INLINE void aboard_signal_fft_auto_scale_mve(const aboard_signal_fft_auto_scale_t *p, const int16_t *in,
                                                    int16_t *out, int32_t *bits, int32_t first, int32_t last) {
    const int32_t whole = p->elements / 8 * 8;
    const mve_pred16_t rest = vctp16q((uint32_t)(p->elements - whole));
    uint16_t largest = 0;
    for (int32_t i = 0; i < whole; i += 8) {
        largest = vmaxavq_s16(largest, vld1q_s16(in + i));
    }
    largest = vmaxavq_p_s16(largest, vldrhq_z_s16(in + whole, rest), rest);
    if (largest > INT16_MAX) {
        /* A frame with -32768. */
        aboard_signal_fft_auto_scale(p, in, out, bits, first, last);
        return;
    }
    const int32_t shift = largest == 0 ? 0 : aboard_leading_zeros(largest) - 17;
    *bits = shift;
    for (int32_t i = 0; i < whole; i += 8) {
        vst1q_s16(out + i, vshlq_r_s16(vld1q_s16(in + i), shift));
    }
    vstrhq_p_s16(out + whole, vshlq_r_s16(vldrhq_z_s16(in + whole, rest), shift), rest);
}

/** Squared absolute values of four complex numbers. */
ABOARD_INLINE uint32x4_t aboard_signal_energy_mve_four(int16x8_t x) {
    return vaddq_u32((uint32x4_t)vmullbq_int_s16(x, x), (uint32x4_t)vmulltq_int_s16(x, x));
}

/** As aboard_signal_energy. */
ABOARD_INLINE void aboard_signal_energy_mve(const aboard_signal_energy_t *p, const int16_t *in, uint32_t *out,
                                            int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    const int32_t start = ABOARD_MIN(ABOARD_MAX(p->start, 0), p->elements);
    const int32_t end = ABOARD_MAX(ABOARD_MIN(p->end, p->elements), start);
    int32_t i = start;
    for (; i + 4 <= end; i += 4) {
        vst1q_u32(out + i, aboard_signal_energy_mve_four(vld1q_s16(in + 2 * i)));
    }
    if (i < end) {
        const int16x8_t x = vldrhq_z_s16(in + 2 * i, vctp16q((uint32_t)(2 * (end - i))));
        vstrwq_p_u32(out + i, aboard_signal_energy_mve_four(x), vctp32q((uint32_t)(end - i)));
    }
    memset(out, 0, (size_t)start * sizeof(*out));
    memset(out + end, 0, (size_t)(p->elements - end) * sizeof(*out));
}

#else

/** As aboard_signal_window. */
ABOARD_INLINE void aboard_signal_window_mve(const aboard_signal_window_t *p, const int16_t *in, const int16_t *weights,
                                            int16_t *out, int32_t first, int32_t last) {
    aboard_signal_window(p, in, weights, out, first, last);
}

/** As aboard_signal_fft_auto_scale. */
ABOARD_INLINE void aboard_signal_fft_auto_scale_mve(const aboard_signal_fft_auto_scale_t *p, const int16_t *in,
                                                    int16_t *out, int32_t *bits, int32_t first, int32_t last) {
    aboard_signal_fft_auto_scale(p, in, out, bits, first, last);
}

/** As aboard_signal_energy. */
ABOARD_INLINE void aboard_signal_energy_mve(const aboard_signal_energy_t *p, const int16_t *in, uint32_t *out,
                                            int32_t first, int32_t last) {
    aboard_signal_energy(p, in, out, first, last);
}

#endif

#endif
