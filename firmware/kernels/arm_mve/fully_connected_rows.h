/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_mve/fully_connected_rows.h
 * int8 product of a matrix and vectors with Helium in little code, which all layers of a model share: four rows of the
 * matrix at once, as they are, for layers whose own code would cost more flash than its cycles are worth.
 */
#ifndef ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_ROWS_H
#define ABOARD_KERNELS_ARM_MVE_FULLY_CONNECTED_ROWS_H

#include <stdint.h>

#include "aboard/config.h"
#include "epilogue.h"
#include "helium.h"

/** Parameters of aboard_fully_connected_rows_mve. */
typedef struct {
    int32_t inputs;
    int32_t outputs;
    int32_t samples;                /**< Of a row of the result. */
    aboard_mve_epilogue_t epilogue; /**< Epilogue of the result. */
} aboard_fully_connected_rows_mve_t;

/** Rows of the matrix at once. */
#define ABOARD_MVE_ROWS 4

#if ABOARD_MVE_ASM

/* clang-format off */
/**
 * Sums of four rows.
 *
 * @param x      Inputs.
 * @param w0..w3 Weights of each row.
 * @param count  Length of a row, at least 1.
 */
ABOARD_INLINE int32x4_t aboard_mve_row_sums(const int8_t *x, const int8_t *w0, const int8_t *w1, const int8_t *w2,
                                            const int8_t *w3, int32_t count) {
    int32x4_t a;
    int32x4_t b;
    int32x4_t c;
    /* VMLADAVA adds to registers with even numbers. The loop takes what is left of the last sixteen inputs only. */
    __asm__ volatile("mov r0, #0\n\tmov r2, #0\n\tmov r4, #0\n\tmov r6, #0\n\t"
                     "dlstp.8 lr, %[count]\n\t"
                     "1:\n\t"
                     "vldrb.8 %q[a], [%[x]], #16\n\t"
                     "vldrb.8 %q[b], [%[w0]], #16\n\t"
                     "vldrb.8 %q[c], [%[w1]], #16\n\t"
                     "vmladava.s8 r0, %q[a], %q[b]\n\t"
                     "vldrb.8 %q[b], [%[w2]], #16\n\t"
                     "vmladava.s8 r2, %q[a], %q[c]\n\t"
                     "vldrb.8 %q[c], [%[w3]], #16\n\t"
                     "vmladava.s8 r4, %q[a], %q[b]\n\t"
                     "vmladava.s8 r6, %q[a], %q[c]\n\t"
                     "letp lr, 1b\n\t"
                     "vmov %q[a][2], %q[a][0], r0, r4\n\t"
                     "vmov %q[a][3], %q[a][1], r2, r6"
                     : [a] "=&w"(a), [b] "=&w"(b), [c] "=&w"(c), [x] "+&r"(x), [w0] "+&r"(w0), [w1] "+&r"(w1),
                       [w2] "+&r"(w2), [w3] "+&r"(w3)
                     : [count] "r"(count)
                     : "r0", "r2", "r4", "r6", "lr", ABOARD_MVE_PREDICATE "cc", "memory");
    return a;
}
/* clang-format on */

/** Results of four sums, in the lowest byte of each lane; the layer's constants need not be literals. */
ABOARD_INLINE int32x4_t aboard_mve_row_results(const aboard_mve_epilogue_t *f, int32x4_t sums, const int32_t *c) {
    const aboard_mve_constants_t constants = aboard_mve_constants(f, c);
    int32x4_t x = aboard_mve_scaled(f, vaddq_s32(sums, constants.bias), &constants);
    if (f->form == ABOARD_MVE_SINGLE_ROUNDING) {
        x = vrshlq_s32(x, vdupq_n_s32(-f->shift));
    }
    return vminq_s32(vmaxq_s32(x, vdupq_n_s32(f->low)), vdupq_n_s32(f->high));
}

#else

/** The function above in C. */
ABOARD_INLINE aboard_mve_packed_words_t aboard_mve_row_sums(const int8_t *x, const int8_t *w0, const int8_t *w1,
                                                            const int8_t *w2, const int8_t *w3, int32_t count) {
    aboard_mve_packed_words_t sums = {{0, 0, 0, 0}};
    for (int32_t k = 0; k < count; ++k) {
        sums.lanes[0] += x[k] * w0[k];
        sums.lanes[1] += x[k] * w1[k];
        sums.lanes[2] += x[k] * w2[k];
        sums.lanes[3] += x[k] * w3[k];
    }
    return sums;
}

/** Results of four sums. */
ABOARD_INLINE aboard_mve_packed_words_t aboard_mve_row_results(const aboard_mve_epilogue_t *f,
                                                               aboard_mve_packed_words_t sums, const int32_t *c) {
    const aboard_mve_constants_t constants = aboard_mve_constants(f, c);
    return aboard_mve_epilogue(f, sums, &constants);
}

#endif

/** All channels of a sample, with a literal form. */
ABOARD_INLINE void aboard_mve_rows_of(const aboard_fully_connected_rows_mve_t *p, int32_t form, const int8_t *x,
                                      int8_t *y, const int8_t *w, const int32_t *constants) {
    const aboard_mve_epilogue_t f = {form, p->epilogue.shift, p->epilogue.zero_point, p->epilogue.low,
                                     p->epilogue.high};
    const int32_t inputs = p->inputs;
    for (int32_t left = p->outputs; left > 0; left -= ABOARD_MVE_ROWS) {
        /* Behind the last row, the last once more. */
        const int8_t *const w1 = w + (left > 1 ? inputs : 0);
        const int8_t *const w2 = w1 + (left > 2 ? inputs : 0);
        const int8_t *const w3 = w2 + (left > 3 ? inputs : 0);
        const aboard_mve_packed_words_t sums = aboard_mve_row_sums(x, w, w1, w2, w3, inputs);
        aboard_mve_store(y, aboard_mve_row_results(&f, sums, constants), left);
        constants += aboard_mve_epilogue_words(&f);
        w = w3 + inputs;
        y += ABOARD_MVE_ROWS;
    }
}

/** All channels of a sample, by single roundings. */
ABOARD_SHARED void aboard_mve_rows_single(const aboard_fully_connected_rows_mve_t *p, const int8_t *x, int8_t *y,
                                          const int8_t *weights, const int32_t *constants) {
    aboard_mve_rows_of(p, ABOARD_MVE_SINGLE_ROUNDING, x, y, weights, constants);
}

/** All channels of a sample, by double roundings. */
ABOARD_SHARED void aboard_mve_rows_double(const aboard_fully_connected_rows_mve_t *p, const int8_t *x, int8_t *y,
                                          const int8_t *weights, const int32_t *constants) {
    if (p->epilogue.form == ABOARD_MVE_PRODUCTS) {
        aboard_mve_rows_of(p, ABOARD_MVE_PRODUCTS, x, y, weights, constants);
    } else {
        aboard_mve_rows_of(p, ABOARD_MVE_ANY, x, y, weights, constants);
    }
}

/**
 * int8 product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     Different memory, without gaps.
 * @param weights     [outputs][inputs].
 * @param constants   Of the epilogue, for four channels after one another.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_rows_mve(const aboard_fully_connected_rows_mve_t *p, const int8_t *in,
                                                   int8_t *out, const int8_t *weights, const int32_t *constants,
                                                   int32_t first, int32_t last) {
    for (int32_t sample = first * p->samples; sample < last * p->samples; ++sample) {
        const int8_t *const x = in + sample * p->inputs;
        int8_t *const y = out + sample * p->outputs;
        if (p->epilogue.form == ABOARD_MVE_SINGLE_ROUNDING) {
            aboard_mve_rows_single(p, x, y, weights, constants);
        } else {
            aboard_mve_rows_double(p, x, y, weights, constants);
        }
    }
}

#endif
