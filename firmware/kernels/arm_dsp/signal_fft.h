/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/signal_fft.h
 * Fourier transforms of real signals of int16 with the DSP extension; results as those of portable/signal_fft_s16.h.
 *
 * A complex number is a word, the real part in its lower half. Each piece of assembly has a twin in C.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_SIGNAL_FFT_H
#define ABOARD_KERNELS_ARM_DSP_SIGNAL_FFT_H

#include <stdbool.h>
#include <stdint.h>

#include "../portable/signal_fft_s16.h"
#include "aboard/config.h"
#include "halfwords.h"

/** Twice the factors by which ABOARD_FFT_DIVIDE multiplies, so that the quotient is the upper half of the product. */
#define ABOARD_DSP_FFT_HALF (2 * (INT16_MAX / 2))
#define ABOARD_DSP_FFT_QUARTER (2 * (INT16_MAX / 4))

/** The number `k` of an array of complex numbers. */
ABOARD_INLINE uint32_t aboard_dsp_fft_get(const int16_t *z, int32_t k) {
    return aboard_dsp_halfwords(z + 2 * k);
}

/** Sets the number `k` of an array of complex numbers. */
ABOARD_INLINE void aboard_dsp_fft_set(int16_t *z, int32_t k, uint32_t value) {
    aboard_dsp_store_halfwords(z + 2 * k, value);
}

/** z * factor / 2^16, both parts rounded. */
ABOARD_INLINE uint32_t aboard_dsp_fft_divided(uint32_t z, int32_t factor) {
#if ABOARD_DSP_ASM
    uint32_t re, im;
    __asm__("smlabb %0, %2, %3, %4\n\tsmlatb %1, %2, %3, %4\n\tpkhtb %0, %1, %0, asr #16"
            : "=&r"(re), "=&r"(im)
            : "r"(z), "r"(factor), "r"(1 << 15));
    return re;
#else
    const int32_t re = aboard_dsp_lower(z) * factor + (1 << 15);
    const int32_t im = aboard_dsp_upper(z) * factor + (1 << 15);
    return aboard_dsp_two_halfwords(re >> 16, im >> 16);
#endif
}

/** a * b / 2^15, both parts rounded. */
ABOARD_INLINE uint32_t aboard_dsp_fft_product(uint32_t a, uint32_t b) {
#if ABOARD_DSP_ASM
    uint32_t re, im;
    __asm__("smlsd %0, %2, %3, %4\n\tsmladx %1, %2, %3, %4\n\tlsl %1, %1, #1\n\tpkhtb %0, %1, %0, asr #15"
            : "=&r"(re), "=&r"(im)
            : "r"(a), "r"(b), "r"(1 << 14));
    return re;
#else
    const int32_t a_re = aboard_dsp_lower(a), a_im = aboard_dsp_upper(a);
    const int32_t b_re = aboard_dsp_lower(b), b_im = aboard_dsp_upper(b);
    const int32_t re = (a_re * b_re - a_im * b_im + (1 << 14)) >> 15;
    const int32_t im = (a_re * b_im + a_im * b_re + (1 << 14)) >> 15;
    return aboard_dsp_two_halfwords(re, im);
#endif
}

/** a - i b; a + i b for `inverse`. */
ABOARD_INLINE uint32_t aboard_dsp_fft_rotate(uint32_t a, uint32_t b, bool inverse) {
#if ABOARD_DSP_ASM
    uint32_t turned;
    if (inverse) {
        __asm__("sasx %0, %1, %2" : "=r"(turned) : "r"(a), "r"(b));
    } else {
        __asm__("ssax %0, %1, %2" : "=r"(turned) : "r"(a), "r"(b));
    }
    return turned;
#else
    const int32_t sign = inverse ? -1 : 1;
    return aboard_dsp_two_halfwords(aboard_dsp_lower(a) + sign * aboard_dsp_upper(b),
                                    aboard_dsp_upper(a) - sign * aboard_dsp_lower(b));
#endif
}

/** The conjugate. */
ABOARD_INLINE uint32_t aboard_dsp_fft_conjugate(uint32_t z) {
    return aboard_dsp_mixed_halves(z, aboard_dsp_sub_halfwords(0, z));
}

/** Combines the numbers at z and z + m; `w` is the twiddle factor of the second. */
ABOARD_INLINE void aboard_dsp_fft_two(int16_t *z, int32_t m, uint32_t w) {
    const uint32_t a = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, 0), ABOARD_DSP_FFT_HALF);
    const uint32_t b = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, m), ABOARD_DSP_FFT_HALF);
    const uint32_t t = aboard_dsp_fft_product(b, w);
    aboard_dsp_fft_set(z, m, aboard_dsp_sub_halfwords(a, t));
    aboard_dsp_fft_set(z, 0, aboard_dsp_add_halfwords(a, t));
}

/** Combines four numbers at distance `m`; `w1`, `w2` and `w3` are the twiddle factors of all but the first. */
ABOARD_INLINE void aboard_dsp_fft_four(int16_t *z, int32_t m, uint32_t w1, uint32_t w2, uint32_t w3, bool inverse) {
    const uint32_t a = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, 0), ABOARD_DSP_FFT_QUARTER);
    const uint32_t b = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, m), ABOARD_DSP_FFT_QUARTER);
    const uint32_t c = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, 2 * m), ABOARD_DSP_FFT_QUARTER);
    const uint32_t d = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, 3 * m), ABOARD_DSP_FFT_QUARTER);
    const uint32_t one = aboard_dsp_fft_product(b, w1), two = aboard_dsp_fft_product(c, w2);
    const uint32_t three = aboard_dsp_fft_product(d, w3);
    const uint32_t low = aboard_dsp_add_halfwords(a, two), high = aboard_dsp_sub_halfwords(a, two);
    const uint32_t total = aboard_dsp_add_halfwords(one, three), spread = aboard_dsp_sub_halfwords(one, three);
    aboard_dsp_fft_set(z, 0, aboard_dsp_add_halfwords(low, total));
    aboard_dsp_fft_set(z, m, aboard_dsp_fft_rotate(high, spread, inverse));
    aboard_dsp_fft_set(z, 2 * m, aboard_dsp_sub_halfwords(low, total));
    aboard_dsp_fft_set(z, 3 * m, aboard_dsp_fft_rotate(high, spread, !inverse));
}

/** A step of factor 4, of `count` numbers; twiddle factors stay in registers for all blocks. */
ABOARD_INLINE void aboard_dsp_fft_fours(int16_t *z, int32_t count, int32_t m, const int16_t *w, bool inverse) {
    const int32_t stride = count / (4 * m);
    for (int32_t i = 0; i < m; ++i) {
        const uint32_t w1 = aboard_dsp_fft_get(w, i * stride), w2 = aboard_dsp_fft_get(w, 2 * i * stride);
        const uint32_t w3 = aboard_dsp_fft_get(w, 3 * i * stride);
        int16_t *const end = z + 2 * count;
        for (int16_t *block = z + 2 * i; block < end; block += 8 * m) {
            aboard_dsp_fft_four(block, m, w1, w2, w3, inverse);
        }
    }
}

/** A step of factor 2, likewise. */
ABOARD_INLINE void aboard_dsp_fft_twos(int16_t *z, int32_t count, int32_t m, const int16_t *w) {
    const int32_t stride = count / (2 * m);
    for (int32_t i = 0; i < m; ++i) {
        const uint32_t factor = aboard_dsp_fft_get(w, i * stride);
        for (int32_t block = i; block < count; block += 2 * m) {
            aboard_dsp_fft_two(z + 2 * block, m, factor);
        }
    }
}

/** Transforms `count` numbers that are in the order of aboard_signal_fft_s16_place. */
ABOARD_INLINE void aboard_dsp_fft_transform(const aboard_signal_fft_s16_t *p, int16_t *z, const int16_t *w,
                                            bool inverse) {
    int32_t m = 1;
    for (int32_t step = p->steps - 1; step >= 0; --step) {
        if (p->factors[step] == 4) {
            aboard_dsp_fft_fours(z, p->count, m, w, inverse);
        } else {
            aboard_dsp_fft_twos(z, p->count, m, w);
        }
        m *= p->factors[step];
    }
}

/** Two elements of a frame as a complex number; elements behind its end are 0. */
ABOARD_INLINE uint32_t aboard_dsp_fft_element(const int16_t *x, int32_t k, int32_t length) {
    if (2 * k + 1 < length) {
        return aboard_dsp_fft_get(x, k);
    }
    return 2 * k < length ? (uint16_t)x[2 * k] : 0;
}

/** The spectrum of a real signal from the transform of its pairs of elements. */
ABOARD_INLINE void aboard_dsp_fft_separate(int16_t *z, int32_t n, const int16_t *halves) {
    const uint32_t zero = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, 0), ABOARD_DSP_FFT_HALF);
    const int32_t re = aboard_dsp_lower(zero), im = aboard_dsp_upper(zero);
    aboard_dsp_fft_set(z, 0, (uint16_t)(re + im));
    aboard_dsp_fft_set(z, n, (uint16_t)(re - im));
    for (int32_t k = 1; k <= n / 2; ++k) {
        const uint32_t mirrored = aboard_dsp_fft_conjugate(aboard_dsp_fft_get(z, n - k));
        const uint32_t a = aboard_dsp_fft_divided(aboard_dsp_fft_get(z, k), ABOARD_DSP_FFT_HALF);
        const uint32_t b = aboard_dsp_fft_divided(mirrored, ABOARD_DSP_FFT_HALF);
        const uint32_t even = aboard_dsp_add_halfwords(a, b);
        const uint32_t odd = aboard_dsp_fft_product(aboard_dsp_sub_halfwords(a, b), aboard_dsp_fft_get(halves, k - 1));
        aboard_dsp_fft_set(z, k, aboard_dsp_mean_halfwords(even, odd));
        aboard_dsp_fft_set(
            z, n - k,
            aboard_dsp_mixed_halves(aboard_dsp_half_difference(even, odd), aboard_dsp_half_difference(odd, even)));
    }
}

/** Writes pairs of elements of a frame as complex numbers, in the order of aboard_dsp_fft_transform. */
ABOARD_INLINE void aboard_dsp_fft_arrange(const aboard_signal_fft_s16_t *p, const int16_t *x, int16_t *z) {
    const int32_t outer = p->factors[0];
    for (int32_t k = 0; k < p->count; k += outer) {
        /* The lowest digit becomes the highest. */
        const int32_t place = aboard_signal_fft_s16_place(p, k);
        for (int32_t digit = 0; digit < outer; ++digit) {
            aboard_dsp_fft_set(z, place + digit * (p->count / outer),
                               aboard_dsp_fft_element(x, k + digit, p->in_length));
        }
    }
}

/** As aboard_signal_fft_s16_rfft; all factors are 2 or 4. */
ABOARD_SHARED ABOARD_HOT void aboard_signal_fft_dsp_rfft(const aboard_signal_fft_s16_t *p, const int16_t *in,
                                                         int16_t *out, const int16_t *twiddles, const int16_t *halves,
                                                         int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    for (int32_t frame = 0; frame < p->frames; ++frame) {
        int16_t *z = out + 2 * frame * (p->count + 1);
        aboard_dsp_fft_arrange(p, in + frame * p->in_length, z);
        aboard_dsp_fft_transform(p, z, twiddles, false);
        aboard_dsp_fft_separate(z, p->count, halves);
    }
}

/** The transform of pairs of elements of a real signal from its spectrum, in the order of aboard_dsp_fft_transform. */
ABOARD_INLINE void aboard_dsp_fft_join(const aboard_signal_fft_s16_t *p, const int16_t *x, int16_t *z,
                                       const int16_t *halves) {
    const int32_t n = p->count;
    const uint32_t ends = aboard_dsp_two_halfwords(x[0] + x[2 * n], x[0] - x[2 * n]);
    aboard_dsp_fft_set(z, 0, aboard_dsp_fft_divided(ends, ABOARD_DSP_FFT_HALF));
    for (int32_t k = 1; k <= n / 2; ++k) {
        const uint32_t mirrored = aboard_dsp_fft_conjugate(aboard_dsp_fft_get(x, n - k));
        const uint32_t a = aboard_dsp_fft_divided(aboard_dsp_fft_get(x, k), ABOARD_DSP_FFT_HALF);
        const uint32_t b = aboard_dsp_fft_divided(mirrored, ABOARD_DSP_FFT_HALF);
        const uint32_t even = aboard_dsp_add_halfwords(a, b);
        const uint32_t odd = aboard_dsp_fft_product(aboard_dsp_sub_halfwords(a, b), aboard_dsp_fft_get(halves, k - 1));
        aboard_dsp_fft_set(z, aboard_signal_fft_s16_place(p, k), aboard_dsp_add_halfwords(even, odd));
        aboard_dsp_fft_set(z, aboard_signal_fft_s16_place(p, n - k),
                           aboard_dsp_fft_conjugate(aboard_dsp_sub_halfwords(even, odd)));
    }
}

/** As aboard_signal_fft_s16_irfft; all factors are 2 or 4. */
ABOARD_SHARED ABOARD_HOT void aboard_signal_fft_dsp_irfft(const aboard_signal_fft_s16_t *p, const int16_t *in,
                                                          int16_t *out, const int16_t *twiddles, const int16_t *halves,
                                                          int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    for (int32_t frame = 0; frame < p->frames; ++frame) {
        int16_t *z = out + 2 * frame * p->count;
        aboard_dsp_fft_join(p, in + 2 * frame * (p->count + 1), z, halves);
        aboard_dsp_fft_transform(p, z, twiddles, true);
    }
}

#endif
