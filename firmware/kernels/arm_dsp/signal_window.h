/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/signal_window.h
 * Window and scale of an audio front end with the DSP extension, two elements at once; results as those of
 * portable/signal_window.h.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_SIGNAL_WINDOW_H
#define ABOARD_KERNELS_ARM_DSP_SIGNAL_WINDOW_H

#include <stdint.h>

#include "../portable/signal_window.h"
#include "aboard/config.h"
#include "halfwords.h"

/** int16 nearest to x. */
ABOARD_INLINE int32_t aboard_dsp_saturate_s16(int32_t x) {
#if ABOARD_DSP_ASM
    return (int32_t)__builtin_arm_ssat(x, 16);
#else
    return x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x;
#endif
}

/** As aboard_signal_window. */
ABOARD_INLINE void aboard_signal_window_dsp(const aboard_signal_window_t *p, const int16_t *in, const int16_t *weights,
                                            int16_t *out, ABOARD_UNUSED int32_t first, ABOARD_UNUSED int32_t last) {
    const int32_t whole = p->length / 2 * 2;
    for (int32_t i = 0; i < p->elements; i += p->length) {
        for (int32_t j = 0; j < whole; j += 2) {
            const uint32_t x = aboard_dsp_halfwords(in + i + j), w = aboard_dsp_halfwords(weights + j);
            const int32_t lower = aboard_dsp_lower(x) * aboard_dsp_lower(w);
            const int32_t upper = aboard_dsp_upper(x) * aboard_dsp_upper(w);
            aboard_dsp_store_halfwords(out + i + j,
                                       aboard_dsp_two_halfwords(aboard_dsp_saturate_s16(lower >> p->shift),
                                                                aboard_dsp_saturate_s16(upper >> p->shift)));
        }
        if (whole < p->length) {
            const int32_t raw = (int32_t)in[i + whole] * weights[whole];
            out[i + whole] = (int16_t)aboard_dsp_saturate_s16(raw >> p->shift);
        }
    }
}

/** The greater numbers of both halves. */
ABOARD_INLINE uint32_t aboard_dsp_greater_halfwords(uint32_t a, uint32_t b) {
#if ABOARD_DSP_ASM
    uint32_t greater;
    __asm__("ssub16 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(greater) : "r"(a), "r"(b));
    return greater;
#else
    const int32_t lower = ABOARD_MAX(aboard_dsp_lower(a), aboard_dsp_lower(b));
    return aboard_dsp_two_halfwords(lower, ABOARD_MAX(aboard_dsp_upper(a), aboard_dsp_upper(b)));
#endif
}

/** The lesser numbers of both halves. */
ABOARD_INLINE uint32_t aboard_dsp_lesser_halfwords(uint32_t a, uint32_t b) {
#if ABOARD_DSP_ASM
    uint32_t lesser;
    __asm__("ssub16 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(lesser) : "r"(a), "r"(b));
    return lesser;
#else
    const int32_t lower = ABOARD_MIN(aboard_dsp_lower(a), aboard_dsp_lower(b));
    return aboard_dsp_two_halfwords(lower, ABOARD_MIN(aboard_dsp_upper(a), aboard_dsp_upper(b)));
#endif
}

/** The bits by which a frame without -32768 is shifted; -1 if it has some. */
ABOARD_INLINE int32_t aboard_signal_fft_auto_scale_bits_dsp(const int16_t *in, int32_t elements) {
    uint32_t most = 0, least = 0;
    for (int32_t i = 0; i + 1 < elements; i += 2) {
        const uint32_t x = aboard_dsp_halfwords(in + i);
        most = aboard_dsp_greater_halfwords(x, most);
        least = aboard_dsp_lesser_halfwords(x, least);
    }
    if (elements % 2 != 0) {
        const uint32_t x = (uint16_t)in[elements - 1];
        most = aboard_dsp_greater_halfwords(x, most);
        least = aboard_dsp_lesser_halfwords(x, least);
    }
    const int32_t low = ABOARD_MIN(aboard_dsp_lower(least), aboard_dsp_upper(least));
    const int32_t high = ABOARD_MAX(aboard_dsp_lower(most), aboard_dsp_upper(most));
    const int32_t largest = ABOARD_MAX(high, -low);
    if (low == INT16_MIN) {
        return -1;
    }
    return largest == 0 ? 0 : aboard_leading_zeros((uint32_t)largest) - 17;
}

/** As aboard_signal_fft_auto_scale. */
ABOARD_INLINE void aboard_signal_fft_auto_scale_dsp(const aboard_signal_fft_auto_scale_t *p, const int16_t *in,
                                                    int16_t *out, int32_t *bits, int32_t first, int32_t last) {
    const int32_t shift = aboard_signal_fft_auto_scale_bits_dsp(in, p->elements);
    if (shift < 0) {
        aboard_signal_fft_auto_scale(p, in, out, bits, first, last);
        return;
    }
    *bits = shift;
    for (int32_t i = 0; i + 1 < p->elements; i += 2) {
        const uint32_t x = aboard_dsp_halfwords(in + i);
        aboard_dsp_store_halfwords(out + i, aboard_dsp_mixed_halves(x << shift, (x & 0xffff0000u) << shift));
    }
    if (p->elements % 2 != 0) {
        out[p->elements - 1] = (int16_t)((int32_t)in[p->elements - 1] * (1 << shift));
    }
}

#endif
