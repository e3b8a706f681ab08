/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/arithmetic.h
 * Sums and differences of int8 with Helium, four at a time, by the short form that the host has proven to be equal.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_ARITHMETIC_H
#define ABOARD_KERNELS_ARM_MVE_ARITHMETIC_H

#include <stdint.h>

#include "../portable/requantize.h"
#include "aboard/config.h"
#include "aboard/view.h"
#include "helium.h"

/** Parameters of aboard_sum_mve: result = (a_factor * a + b_factor * b + constant) >> shift. */
typedef struct {
    aboard_view_t a; /**< Any view. */
    aboard_view_t b; /**< Any view with as many rows, pixels and channels. */
    aboard_view_t out;
    int32_t joined; /**< 1: pixels and rows of all three are contiguous. */
    int32_t a_factor;
    int32_t b_factor;
    int32_t constant;
    int32_t shift;
    int32_t low;  /**< Smallest result. */
    int32_t high; /**< Largest result. */
} aboard_sum_mve_t;

#if ABOARD_MVE_ASM

/** Four results. */
ABOARD_INLINE int32x4_t aboard_sum_mve_four(const aboard_sum_mve_t *p, int32x4_t a, int32x4_t b) {
    const int32x4_t scaled = vmlasq_n_s32(a, vdupq_n_s32(p->a_factor), p->constant);
    int32x4_t x = vshlq_r_s32(vmlaq_n_s32(scaled, b, p->b_factor), -p->shift);
    if (p->low == INT8_MIN && p->high == INT8_MAX) {
        __asm__("vqmovnb.s32 %q0, %q0\n\tvqmovnb.s16 %q0, %q0" : "+&w"(x));
        return x;
    }
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(p->low)), vdupq_n_s32(p->high));
}

/** True if sixteen elements can be shifted in two steps: the second to int8, with rounding and saturation. */
ABOARD_INLINE int32_t aboard_sum_mve_in_two_steps(const aboard_sum_mve_t *p) {
    const int64_t factors = (int64_t)ABOARD_MAX(p->a_factor, -p->a_factor) + ABOARD_MAX(p->b_factor, -p->b_factor);
    const int64_t most = ABOARD_MAX((int64_t)p->constant, -(int64_t)p->constant) + 128 * factors;
    const int32_t shifts = p->shift > 16 && p->shift <= 24 && p->low == INT8_MIN && p->high == INT8_MAX;
    return shifts && most + (INT64_C(1) << (p->shift - 1)) <= INT32_MAX;
}

/* Formatted by hand: one instruction per line. */
/* clang-format off */

/** Four results; the constant is corrected for the rounding of the second shift. */
#define ABOARD_SUM_MVE_FOUR \
    "vldrb.s32 %q[x], [%[a]], #4\n\t" \
    "vldrb.s32 %q[y], [%[b]], #4\n\t" \
    "vmlas.s32 %q[x], %q[factor], %[constant]\n\t" \
    "vmla.s32 %q[x], %q[y], %[b_factor]\n\t" \
    "vshrnb.i32 %q[x], %q[x], #16\n\t" \
    "vqrshrnb.s16 %q[x], %q[x], %[shift]\n\t" \
    "vstrb.32 %q[x], [%[out]], #4\n\t"

/** Computes sixteen elements, `count` times; 1 or more. */
ABOARD_INLINE void aboard_sum_mve_sixteens(const aboard_sum_mve_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                           int32_t count) {
    int32x4_t x;
    int32x4_t y;
    __asm__ volatile("dls lr, %[count]\n\t"
                     "1:\n\t"
                     ABOARD_SUM_MVE_FOUR
                     ABOARD_SUM_MVE_FOUR
                     ABOARD_SUM_MVE_FOUR
                     ABOARD_SUM_MVE_FOUR
                     "le lr, 1b"
                     : [x] "=&w"(x), [y] "=&w"(y), [a] "+&l"(a), [b] "+&l"(b), [out] "+&l"(out)
                     : [factor] "w"(vdupq_n_s32(p->a_factor)), [b_factor] "r"(p->b_factor),
                       [constant] "r"(p->constant - (1 << (p->shift - 1))), [shift] "i"(p->shift - 16),
                       [count] "r"(count)
                     : "lr", "cc", "memory");
}

/* clang-format on */

/** Computes `count` neighbouring elements. */
ABOARD_INLINE void aboard_sum_mve_run(const aboard_sum_mve_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                      int32_t count) {
    if (aboard_sum_mve_in_two_steps(p) && count >= 16) {
        const int32_t done = count / 16 * 16;
        aboard_sum_mve_sixteens(p, a, b, out, count / 16);
        a += done;
        b += done;
        out += done;
        count -= done;
    }
    ABOARD_UNROLL(4)
    for (int32_t blocks = count / 4; blocks > 0; --blocks) {
        vstrbq_s32(out, aboard_sum_mve_four(p, vldrbq_s32(a), vldrbq_s32(b)));
        a += 4;
        b += 4;
        out += 4;
    }
    if (count % 4 != 0) {
        const mve_pred16_t some = vctp32q((uint32_t)(count % 4));
        vstrbq_p_s32(out, aboard_sum_mve_four(p, vldrbq_z_s32(a, some), vldrbq_z_s32(b, some)), some);
    }
}

#else

/** Computes `count` neighbouring elements. */
ABOARD_INLINE void aboard_sum_mve_run(const aboard_sum_mve_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                      int32_t count) {
    for (int32_t i = 0; i < count; ++i) {
        const uint32_t x = (uint32_t)a[i] * (uint32_t)p->a_factor + (uint32_t)b[i] * (uint32_t)p->b_factor;
        out[i] = (int8_t)aboard_clamp((int32_t)(x + (uint32_t)p->constant) >> p->shift, p->low, p->high);
    }
}

#endif

/**
 * Sum or difference, equal to TFLite's for every pair of operands.
 *
 * @param p            Parameters.
 * @param a, b         Operands, of the shape of the result.
 * @param out          Result; may share the memory of an operand that has the same view.
 * @param first, last  Rows [first, last) of the result are written.
 */
ABOARD_INLINE void aboard_sum_mve(const aboard_sum_mve_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                  int32_t first, int32_t last) {
    if (p->joined) {
        const int32_t run = p->out.row_stride;
        aboard_sum_mve_run(p, a + first * run, b + first * run, out + first * run, (last - first) * run);
        return;
    }
    for (int32_t r = first; r < last; ++r) {
        const int8_t *x = aboard_row_s8(&p->a, a, r);
        const int8_t *y = aboard_row_s8(&p->b, b, r);
        int8_t *z = aboard_row_out_s8(&p->out, out, r);
        for (int32_t col = 0; col < p->out.cols; ++col) {
            aboard_sum_mve_run(p, x, y, z, p->out.channels);
            x += p->a.pixel_stride;
            y += p->b.pixel_stride;
            z += p->out.pixel_stride;
        }
    }
}

#endif
