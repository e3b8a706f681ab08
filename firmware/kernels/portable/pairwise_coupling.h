/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/pairwise_coupling.h
 * Probabilities of classes from those of pairs of classes.
 */
#ifndef ABOARD_KERNELS_PORTABLE_PAIRWISE_COUPLING_H
#define ABOARD_KERNELS_PORTABLE_PAIRWISE_COUPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "aboard/config.h"

/** Parameters of aboard_pairwise_coupling_f32. */
typedef struct {
    int32_t samples;
    int32_t classes;    /**< At least 2. */
    int32_t iterations; /**< At most. */
    float error;        /**< Error at which they end, times the number of classes. */
} aboard_pairwise_coupling_f32_t;

/** Fills the matrix Q {classes, classes} from the probabilities of pairs (i, j), i < j, in lexical order. */
ABOARD_INLINE void aboard_pairwise_matrix(const aboard_pairwise_coupling_f32_t *p, const float *pairs, float *q) {
    const int32_t n = p->classes;
    for (int32_t i = 0; i < n; ++i) {
        q[i * n + i] = 0.0f;
    }
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = i + 1; j < n; ++j) {
            const float of_i = *pairs++;
            const float of_j = 1.0f - of_i;
            q[i * n + i] += of_j * of_j;
            q[j * n + j] += of_i * of_i;
            q[i * n + j] = q[j * n + i] = -of_j * of_i;
        }
    }
}

/** Sets products = Q x and the sum of x * products; returns whether all products are near the sum. */
ABOARD_INLINE bool aboard_pairwise_products(const aboard_pairwise_coupling_f32_t *p, const float *q, const float *x,
                                            float *products, float *total) {
    const int32_t n = p->classes;
    const float error = p->error / (float)n;
    *total = 0.0f;
    for (int32_t i = 0; i < n; ++i) {
        float sum = 0.0f;
        for (int32_t j = 0; j < n; ++j) {
            sum += q[i * n + j] * x[j];
        }
        products[i] = sum;
        *total += x[i] * sum;
    }
    for (int32_t i = 0; i < n; ++i) {
        const float difference = products[i] - *total;
        if (!((difference < 0.0f ? -difference : difference) < error)) {
            return false;
        }
    }
    return true;
}

/**
 * Couples the probabilities of pairs of classes: method 2 of Wu, Lin and Weng, which iterates.
 *
 * @param p            Parameters.
 * @param in           {samples, classes * (classes - 1) / 2}: for pair (i, j), i < j in lexical order, the probability
 * of i where the class is i or j; in (0, 1).
 * @param out          Probabilities {samples, classes}; other memory than the operand.
 * @param scratch      classes * (classes + 1) elements.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_pairwise_coupling_f32(const aboard_pairwise_coupling_f32_t *p, const float *in, float *out,
                                                float *scratch, int32_t first, int32_t last) {
    (void)first;
    (void)last;
    const int32_t n = p->classes;
    float *products = scratch + n * n;
    for (int32_t s = 0; s < p->samples; ++s) {
        float *x = out + s * n;
        float total;
        aboard_pairwise_matrix(p, in + s * (n * (n - 1) / 2), scratch);
        for (int32_t i = 0; i < n; ++i) {
            x[i] = 1.0f / (float)n;
        }
        for (int32_t k = 0; k < p->iterations && !aboard_pairwise_products(p, scratch, x, products, &total); ++k) {
            for (int32_t i = 0; i < n; ++i) {
                const float *q = scratch + i * n;
                const float step = (total - products[i]) / q[i];
                const float grown = 1.0f + step;
                x[i] += step;
                total = (total + step * (step * q[i] + 2.0f * products[i])) / grown / grown;
                for (int32_t j = 0; j < n; ++j) {
                    products[j] = (products[j] + step * q[j]) / grown;
                    x[j] /= grown;
                }
            }
        }
    }
}

#endif
