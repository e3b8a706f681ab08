/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/signal_fft.h
 * Fourier transforms of real signals of int16 with Helium, four complex numbers at once; results as those of
 * portable/signal_fft_s16.h. The order of the numbers and the spectrum's symmetry are those of the DSP extension.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_SIGNAL_FFT_H
#define ABOARD_KERNELS_ARM_MVE_SIGNAL_FFT_H

#include <stdbool.h>
#include <stdint.h>

#include "../arm_dsp/signal_fft.h"
#include "aboard/config.h"
#include "helium.h"

#if ABOARD_MVE_ASM

/** Complex numbers of a vector. */
#define ABOARD_MVE_FFT_LANES 4

/** Four groups of numbers to combine: first, second and so on of each. */
typedef struct {
    int16x8_t a;
    int16x8_t b;
    int16x8_t c;
    int16x8_t d;
} aboard_mve_fft_four_t;

/** Twiddle factors of the numbers but the first. */
typedef struct {
    int16x8_t b;
    int16x8_t c;
    int16x8_t d;
} aboard_mve_fft_twiddles_t;

/** The complex numbers at `index`, a vector. In assembly, because a compiler may believe that words and halfwords are
 * not the same memory. */
ABOARD_INLINE int16x8_t aboard_mve_fft_gather(const int16_t *z, uint32x4_t index) {
    int16x8_t values;
    __asm__ volatile("vldrw.u32 %q0, [%1, %q2, uxtw #2]" : "=&w"(values) : "r"(z), "w"(index) : "memory");
    return values;
}

/** Sets the complex numbers at `index`. */
ABOARD_INLINE void aboard_mve_fft_scatter(int16_t *z, uint32x4_t index, int16x8_t values) {
    __asm__ volatile("vstrw.32 %q2, [%0, %q1, uxtw #2]" : : "r"(z), "w"(index), "w"(values) : "memory");
}

/** a * b / 2^15, rounded; the product does not overflow. */
ABOARD_INLINE int16x8_t aboard_mve_fft_product(int16x8_t a, int16x8_t b) {
    return vqrdmladhxq_s16(vqrdmlsdhq_s16(a, a, b), a, b);
}

/** As aboard_dsp_fft_divided. */
ABOARD_INLINE int16x8_t aboard_mve_fft_divided(int16x8_t z, int32_t factor) {
    return vqrdmulhq_n_s16(z, (int16_t)(factor / 2));
}

/** As aboard_dsp_fft_four. */
ABOARD_INLINE aboard_mve_fft_four_t aboard_mve_fft_combined(aboard_mve_fft_four_t z, aboard_mve_fft_twiddles_t w,
                                                            bool inverse) {
    const int16x8_t a = aboard_mve_fft_divided(z.a, ABOARD_DSP_FFT_QUARTER);
    const int16x8_t one = aboard_mve_fft_product(aboard_mve_fft_divided(z.b, ABOARD_DSP_FFT_QUARTER), w.b);
    const int16x8_t two = aboard_mve_fft_product(aboard_mve_fft_divided(z.c, ABOARD_DSP_FFT_QUARTER), w.c);
    const int16x8_t three = aboard_mve_fft_product(aboard_mve_fft_divided(z.d, ABOARD_DSP_FFT_QUARTER), w.d);
    const int16x8_t low = vaddq_s16(a, two), high = vsubq_s16(a, two);
    const int16x8_t total = vaddq_s16(one, three), spread = vsubq_s16(one, three);
    const int16x8_t below = vcaddq_rot270_s16(high, spread), above = vcaddq_rot90_s16(high, spread);
    const aboard_mve_fft_four_t result = {vaddq_s16(low, total), inverse ? above : below, vsubq_s16(low, total),
                                          inverse ? below : above};
    return result;
}

/** Twiddle factors number `i`, twice and three times `i`. */
ABOARD_INLINE aboard_mve_fft_twiddles_t aboard_mve_fft_twiddles(const int16_t *w, uint32x4_t i) {
    const uint32x4_t twice = vaddq_u32(i, i);
    const aboard_mve_fft_twiddles_t found = {aboard_mve_fft_gather(w, i), aboard_mve_fft_gather(w, twice),
                                             aboard_mve_fft_gather(w, vaddq_u32(twice, i))};
    return found;
}

/** A step of factor 4 of a multiple of four numbers at distance 1. */
ABOARD_INLINE void aboard_mve_fft_wide(int16_t *z, int32_t count, int32_t m, const int16_t *w, bool inverse) {
    const uint32_t stride = (uint32_t)(count / (4 * m));
    for (int32_t i = 0; i < m; i += ABOARD_MVE_FFT_LANES) {
        const uint32x4_t numbers = vmulq_n_u32(vidupq_n_u32((uint32_t)i, 1), stride);
        const aboard_mve_fft_twiddles_t factors = aboard_mve_fft_twiddles(w, numbers);
        int16_t *const end = z + 2 * count;
        for (int16_t *at = z + 2 * i; at < end; at += 8 * m) {
            const aboard_mve_fft_four_t given = {vld1q_s16(at), vld1q_s16(at + 2 * m), vld1q_s16(at + 4 * m),
                                                 vld1q_s16(at + 6 * m)};
            const aboard_mve_fft_four_t result = aboard_mve_fft_combined(given, factors, inverse);
            vst1q_s16(at, result.a);
            vst1q_s16(at + 2 * m, result.b);
            vst1q_s16(at + 4 * m, result.c);
            vst1q_s16(at + 6 * m, result.d);
        }
    }
}

/** A step of factor 4 of one or two numbers at distance 1: vectors reach over blocks. */
ABOARD_INLINE void aboard_mve_fft_narrow(int16_t *z, int32_t count, int32_t m, const int16_t *w, bool inverse) {
    const uint32x4_t lanes = vidupq_n_u32(0, 1);
    const uint32x4_t i = vandq_u32(lanes, vdupq_n_u32((uint32_t)(m - 1)));
    const uint32x4_t a = vaddq_u32(i, vshlq_n_u32(vsubq_u32(lanes, i), 2));
    const aboard_mve_fft_twiddles_t factors = aboard_mve_fft_twiddles(w, vmulq_n_u32(i, (uint32_t)(count / (4 * m))));
    int16_t *const end = z + 2 * count;
    for (int16_t *at = z; at < end; at += 2 * 4 * ABOARD_MVE_FFT_LANES) {
        const aboard_mve_fft_four_t given = {aboard_mve_fft_gather(at, a), aboard_mve_fft_gather(at + 2 * m, a),
                                             aboard_mve_fft_gather(at + 4 * m, a),
                                             aboard_mve_fft_gather(at + 6 * m, a)};
        const aboard_mve_fft_four_t result = aboard_mve_fft_combined(given, factors, inverse);
        aboard_mve_fft_scatter(at, a, result.a);
        aboard_mve_fft_scatter(at + 2 * m, a, result.b);
        aboard_mve_fft_scatter(at + 4 * m, a, result.c);
        aboard_mve_fft_scatter(at + 6 * m, a, result.d);
    }
}

/** As aboard_dsp_fft_transform. */
ABOARD_INLINE void aboard_mve_fft_transform(const aboard_signal_fft_s16_t *p, int16_t *z, const int16_t *w,
                                            bool inverse) {
    int32_t m = 1;
    for (int32_t step = p->steps - 1; step >= 0; --step) {
        if (p->factors[step] == 2) {
            aboard_dsp_fft_twos(z, p->count, m, w);
        } else if (m >= ABOARD_MVE_FFT_LANES) {
            aboard_mve_fft_wide(z, p->count, m, w, inverse);
        } else if (p->count >= 4 * ABOARD_MVE_FFT_LANES) {
            aboard_mve_fft_narrow(z, p->count, m, w, inverse);
        } else {
            aboard_dsp_fft_fours(z, p->count, m, w, inverse);
        }
        m *= p->factors[step];
    }
}

#else

/** The function above in C. */
ABOARD_INLINE void aboard_mve_fft_transform(const aboard_signal_fft_s16_t *p, int16_t *z, const int16_t *w,
                                            bool inverse) {
    aboard_dsp_fft_transform(p, z, w, inverse);
}

#endif

/** As aboard_signal_fft_s16_rfft; all factors are 2 or 4, and twiddle factors and the result are aligned to words. */
ABOARD_SHARED ABOARD_HOT void aboard_signal_fft_mve_rfft(const aboard_signal_fft_s16_t *p, const int16_t *in,
                                                         int16_t *out, const int16_t *twiddles, const int16_t *halves,
                                                         int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    for (int32_t frame = 0; frame < p->frames; ++frame) {
        int16_t *z = out + 2 * frame * (p->count + 1);
        aboard_dsp_fft_arrange(p, in + frame * p->in_length, z);
        aboard_mve_fft_transform(p, z, twiddles, false);
        aboard_dsp_fft_separate(z, p->count, halves);
    }
}

/** As aboard_signal_fft_s16_irfft; likewise. */
ABOARD_SHARED ABOARD_HOT void aboard_signal_fft_mve_irfft(const aboard_signal_fft_s16_t *p, const int16_t *in,
                                                          int16_t *out, const int16_t *twiddles, const int16_t *halves,
                                                          int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    for (int32_t frame = 0; frame < p->frames; ++frame) {
        int16_t *z = out + 2 * frame * p->count;
        aboard_dsp_fft_join(p, in + 2 * frame * (p->count + 1), z, halves);
        aboard_mve_fft_transform(p, z, twiddles, true);
    }
}

#endif
