/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file riscv_v/fully_connected.h
 * int8 matrices with the vector extension of RISC-V: sixteen channels of up to four samples at once.
 */
#ifndef ABOARD_KERNELS_RISCV_V_FULLY_CONNECTED_H
#define ABOARD_KERNELS_RISCV_V_FULLY_CONNECTED_H

#include <stdint.h>

#include "aboard/config.h"
#include "block.h"

/** Parameters of aboard_fully_connected_riscv_v. */
typedef struct {
    int32_t inputs;          /**< Inputs of a sample. */
    int32_t outputs;         /**< Channels. */
    int32_t samples;         /**< Samples of a row. */
    int32_t single_rounding; /**< 1: results by a single rounding; 0: by a double rounding. */
    int32_t low;             /**< Smallest result. */
    int32_t high;            /**< Largest result. */
} aboard_fully_connected_riscv_v_t;

/**
 * int8 matrix product, results equal to TFLite's reference kernel.
 *
 * @param p           Parameters.
 * @param in, out     [samples, inputs] and [samples, outputs], in different memory.
 * @param weights     [blocks of 16 channels, inputs, 16], padded with zeros.
 * @param constants   [blocks of 16 channels, kinds, 16], see aboard_riscv_v_job_t.
 * @param first, last Rows [first, last) of the result are computed.
 */
ABOARD_INLINE void aboard_fully_connected_riscv_v(const aboard_fully_connected_riscv_v_t *p, const int8_t *in,
                                                  int8_t *out, const int8_t *weights, const int32_t *constants,
                                                  int32_t first, int32_t last) {
    const int32_t words = (p->single_rounding ? 3 : 4) * ABOARD_RISCV_V_BLOCK;
    void (*const four)(const aboard_riscv_v_job_t *) =
        p->single_rounding ? aboard_riscv_v_four_single : aboard_riscv_v_four_double;
    void (*const one)(const aboard_riscv_v_job_t *) =
        p->single_rounding ? aboard_riscv_v_one_single : aboard_riscv_v_one_double;
    const int32_t end = last * p->samples;
    for (int32_t sample = first * p->samples; sample < end; sample += ABOARD_RISCV_V_PIXELS) {
        aboard_riscv_v_place_t places[ABOARD_RISCV_V_PIXELS];
        aboard_riscv_v_job_t job = {places, 1, p->inputs, weights, constants, 0, p->low, p->high, {NULL}, in, NULL};
        for (int32_t j = 0; j < ABOARD_RISCV_V_PIXELS; ++j) {
            const int32_t at = sample + j < end ? sample + j : sample;
            places[j] = aboard_riscv_v_place(in, in + at * p->inputs, NULL);
            job.y[j] = out + at * p->outputs;
        }
        for (int32_t n = 0; n < p->outputs; n += ABOARD_RISCV_V_BLOCK) {
            job.channels = ABOARD_MIN(p->outputs - n, ABOARD_RISCV_V_BLOCK);
            if (sample + 1 < end) {
                four(&job);
            } else {
                one(&job);
            }
            job.weights += p->inputs * ABOARD_RISCV_V_BLOCK;
            job.constants += words;
            for (int32_t j = 0; j < ABOARD_RISCV_V_PIXELS; ++j) {
                job.y[j] += ABOARD_RISCV_V_BLOCK;
            }
        }
    }
}

#endif
