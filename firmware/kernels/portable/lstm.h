/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/lstm.h
 * Layers of long short-term memory in portable C: int8 and int16 with a cell state of int16, and float32.
 *
 * All four gates of a unit are computed before the next unit, from the hidden state of the step before, which is the
 * last row of the result. So gates need no memory, and the cell state is updated where it is.
 */
#ifndef ABOARD_KERNELS_PORTABLE_LSTM_H
#define ABOARD_KERNELS_PORTABLE_LSTM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "epilogue_s16.h"
#include "float_math.h"
#include "fully_connected_s16.h"
#include "requantize.h"
#include "sigmoid_s16.h"
#include "sums_of_four.h"
#include "sums_of_four_f32.h"

/** Gates of a unit, in this order: input, forget, cell, output. */
#define ABOARD_LSTM_GATES 4

/** Extents of a layer. Operands and results are stored whole and without gaps; strides are elements. */
typedef struct {
    int32_t batches;
    int32_t steps;
    int32_t inputs;
    int32_t units;
    int32_t batch_rows; /**< Rows of input and result from a batch to the next: `steps`, or 1 with the time first. */
    int32_t step_rows;  /**< Rows from a step to the next: 1, or `batches` with the time first. */
} aboard_lstm_extents_t;

/** A rescaling, as aboard_requantize takes it; of sums of 64 bits 15 bits of the multiplier and a right shift. */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} aboard_lstm_scale_t;

/** Parameters of the quantised kernels. */
typedef struct {
    aboard_lstm_extents_t extents;
    aboard_lstm_scale_t input[ABOARD_LSTM_GATES];     /**< Of products with the input. */
    aboard_lstm_scale_t recurrent[ABOARD_LSTM_GATES]; /**< Of products with the hidden state. */
    aboard_lstm_scale_t forget;                       /**< Of forget gate times cell state. */
    aboard_lstm_scale_t update;                       /**< Of input gate times cell gate. */
    aboard_lstm_scale_t output;                       /**< Of output gate times the tangent of the cell state. */
    int32_t cell_multiplier;                          /**< See aboard_sigmoid_s16_t: of the cell state. */
    int32_t cell_shift;
    int32_t clip;       /**< Limit of the cell state; 0 for none. */
    int32_t zero_point; /**< Of the hidden state. */
    int32_t chunk;      /**< int16: products that a sum of 32 bits holds. */
} aboard_lstm_t;

/** int16 nearest to x. */
ABOARD_INLINE int16_t aboard_lstm_saturate(int32_t x) {
    return aboard_clamp_s16(x, INT16_MIN, INT16_MAX);
}

/** int16 nearest to a rescaled number. */
ABOARD_INLINE int32_t aboard_lstm_rescale(int32_t x, const aboard_lstm_scale_t *scale) {
    return aboard_lstm_saturate(aboard_requantize(x, scale->multiplier, scale->shift));
}

/** As aboard_lstm_rescale, of a sum of 64 bits, less than 2^47. */
ABOARD_INLINE int32_t aboard_lstm_rescale_wide(int64_t x, const aboard_lstm_scale_t *scale) {
    const int64_t rounded = x * scale->multiplier + (INT64_C(1) << (scale->shift - 1));
    return aboard_lstm_saturate((int32_t)(uint32_t)(uint64_t)(rounded >> scale->shift));
}

/** The next cell state of a unit from its gates before their functions; `*hidden` is its hidden state, not saturated.
 */
ABOARD_INLINE int16_t aboard_lstm_cell(const aboard_lstm_t *p, const int32_t *gates, int32_t cell,
                                       const uint16_t *table, int32_t *hidden) {
    const aboard_sigmoid_s16_t of_gate = {.multiplier = 3, .shift = 0};
    const aboard_sigmoid_s16_t of_cell = {.multiplier = p->cell_multiplier, .shift = p->cell_shift};
    const int32_t input = aboard_sigmoid_element(&of_gate, gates[0], table, ABOARD_LOGISTIC_BITS);
    const int32_t forget = aboard_sigmoid_element(&of_gate, gates[1], table, ABOARD_LOGISTIC_BITS);
    const int32_t fresh = aboard_sigmoid_element(&of_gate, gates[2], table, ABOARD_TANH_BITS);
    const int32_t output = aboard_sigmoid_element(&of_gate, gates[3], table, ABOARD_LOGISTIC_BITS);
    int32_t next = aboard_lstm_saturate(aboard_lstm_rescale(forget * cell, &p->forget) +
                                        aboard_lstm_rescale(input * fresh, &p->update));
    if (p->clip > 0) {
        next = aboard_clamp(next, -p->clip, p->clip);
    }
    const int32_t tangent = aboard_sigmoid_element(&of_cell, next, table, ABOARD_TANH_BITS);
    *hidden = aboard_requantize(tangent * output, p->output.multiplier, p->output.shift);
    return (int16_t)next;
}

/** The gates of a unit before their functions, int8. */
ABOARD_INLINE void aboard_lstm_gates_s8(const aboard_lstm_t *p, const int8_t *x, const int8_t *h, const int8_t *w,
                                        const int8_t *recurrent, const int32_t *bias, int32_t *gates) {
    int32_t fresh[ABOARD_LSTM_GATES] = {0, 0, 0, 0};
    int32_t past[ABOARD_LSTM_GATES] = {0, 0, 0, 0};
    aboard_sums_of_four_s8(fresh, x, w, p->extents.inputs);
    aboard_sums_of_four_s8(past, h, recurrent, p->extents.units);
    for (int32_t i = 0; i < ABOARD_LSTM_GATES; ++i) {
        const int32_t of_x = (int32_t)((uint32_t)fresh[i] + (uint32_t)bias[i]);
        const int32_t of_h = (int32_t)((uint32_t)past[i] + (uint32_t)bias[ABOARD_LSTM_GATES + i]);
        gates[i] =
            aboard_lstm_saturate(aboard_lstm_rescale(of_x, &p->input[i]) + aboard_lstm_rescale(of_h, &p->recurrent[i]));
    }
}

/** Sums of products of int16, in 64 bits. */
ABOARD_INLINE void aboard_lstm_sums_s16(int64_t *totals, const int16_t *x, const int8_t *w, int32_t count,
                                        int32_t chunk) {
    for (int32_t done = 0; done < count; done += chunk) {
        int32_t sums[ABOARD_LSTM_GATES] = {0, 0, 0, 0};
        const int32_t now = ABOARD_MIN(chunk, count - done);
        aboard_fully_connected_s16_sums(sums, x + done, w + ABOARD_LSTM_GATES * done, now);
        for (int32_t i = 0; i < ABOARD_LSTM_GATES; ++i) {
            totals[i] += sums[i];
        }
    }
}

/** The gates of a unit before their functions, int16. */
ABOARD_INLINE void aboard_lstm_gates_s16(const aboard_lstm_t *p, const int16_t *x, const int16_t *h, const int8_t *w,
                                         const int8_t *recurrent, const int64_t *bias, int32_t *gates) {
    int64_t fresh[ABOARD_LSTM_GATES] = {bias[0], bias[1], bias[2], bias[3]};
    int64_t past[ABOARD_LSTM_GATES] = {bias[4], bias[5], bias[6], bias[7]};
    aboard_lstm_sums_s16(fresh, x, w, p->extents.inputs, p->chunk);
    aboard_lstm_sums_s16(past, h, recurrent, p->extents.units, p->chunk);
    for (int32_t i = 0; i < ABOARD_LSTM_GATES; ++i) {
        gates[i] = aboard_lstm_saturate(aboard_lstm_rescale_wide(fresh[i], &p->input[i]) +
                                        aboard_lstm_rescale_wide(past[i], &p->recurrent[i]));
    }
}

/** Saturates a hidden state and adds its zero point. */
ABOARD_INLINE int32_t aboard_lstm_hidden(int32_t hidden, int32_t zero_point, int32_t low, int32_t high) {
    return aboard_clamp(hidden, low - zero_point, high - zero_point) + zero_point;
}

/**
 * A sequence of steps of int8, results equal to TFLite Micro's reference kernel.
 *
 * @param p           Parameters.
 * @param in          Input, rows of `inputs`.
 * @param hidden      [batches][units], before the first step.
 * @param cell        [batches][units], likewise.
 * @param out         Rows of `units`; a row may have the memory of an input's row that was read for an earlier row.
 * @param next_hidden After the last step; may be `hidden`.
 * @param next_cell   After the last step; may be `cell`.
 * @param weights     [units][inputs][4 gates].
 * @param recurrent   [units][units][4 gates].
 * @param bias        [units][8]: of the input's products of each gate, of the hidden state's; less zero points times
 *                    sums of weights.
 * @param table       As for aboard_logistic_s16.
 * @param first, last All rows of the result.
 */
ABOARD_SHARED ABOARD_HOT void aboard_lstm_s8(const aboard_lstm_t *p, const int8_t *in, const int8_t *hidden,
                                             const int16_t *cell, int8_t *out, int8_t *next_hidden, int16_t *next_cell,
                                             const int8_t *weights, const int8_t *recurrent, const int32_t *bias,
                                             const uint16_t *table, int32_t first ABOARD_UNUSED,
                                             int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->extents;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const int8_t *h = hidden + batch * e->units;
        const int16_t *c = cell + batch * e->units;
        int16_t *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            int8_t *const y = out + row * e->units;
            for (int32_t n = 0; n < e->units; ++n) {
                int32_t gates[ABOARD_LSTM_GATES];
                int32_t result;
                aboard_lstm_gates_s8(p, in + row * e->inputs, h, weights + n * ABOARD_LSTM_GATES * e->inputs,
                                     recurrent + n * ABOARD_LSTM_GATES * e->units, bias + n * 2 * ABOARD_LSTM_GATES,
                                     gates);
                to[n] = aboard_lstm_cell(p, gates, c[n], table, &result);
                y[n] = (int8_t)aboard_lstm_hidden(result, p->zero_point, INT8_MIN, INT8_MAX);
            }
            h = y;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units);
    }
}

/** As aboard_lstm_s8, with input, hidden state and result of int16. */
ABOARD_SHARED ABOARD_HOT void aboard_lstm_s16(const aboard_lstm_t *p, const int16_t *in, const int16_t *hidden,
                                              const int16_t *cell, int16_t *out, int16_t *next_hidden,
                                              int16_t *next_cell, const int8_t *weights, const int8_t *recurrent,
                                              const int64_t *bias, const uint16_t *table, int32_t first ABOARD_UNUSED,
                                              int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->extents;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const int16_t *h = hidden + batch * e->units;
        const int16_t *c = cell + batch * e->units;
        int16_t *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            int16_t *const y = out + row * e->units;
            for (int32_t n = 0; n < e->units; ++n) {
                int32_t gates[ABOARD_LSTM_GATES];
                int32_t result;
                aboard_lstm_gates_s16(p, in + row * e->inputs, h, weights + n * ABOARD_LSTM_GATES * e->inputs,
                                      recurrent + n * ABOARD_LSTM_GATES * e->units, bias + n * 2 * ABOARD_LSTM_GATES,
                                      gates);
                to[n] = aboard_lstm_cell(p, gates, c[n], table, &result);
                y[n] = (int16_t)aboard_lstm_hidden(result, p->zero_point, INT16_MIN, INT16_MAX);
            }
            h = y;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units * sizeof(*h));
    }
}

/** Parameters of aboard_lstm_f32. */
typedef struct {
    aboard_lstm_extents_t extents;
    float clip; /**< Limit of the cell state; 0 for none. */
} aboard_lstm_f32_t;

/** The next cell state of a unit of float32 from its gates before their functions, and its hidden state. */
ABOARD_INLINE float aboard_lstm_cell_f32(const aboard_lstm_f32_t *p, const float *gates, float cell, float *hidden) {
    const float kept = ABOARD_LOGISTIC_F32(gates[1]) * cell;
    float next = kept + ABOARD_LOGISTIC_F32(gates[0]) * ABOARD_TANH_F32(gates[2]);
    if (p->clip > 0.0f) {
        next = next < -p->clip ? -p->clip : next > p->clip ? p->clip : next;
    }
    *hidden = ABOARD_TANH_F32(next) * ABOARD_LOGISTIC_F32(gates[3]);
    return next;
}

/** As aboard_lstm_s8, in float32; the bias is [units][4 gates]. */
ABOARD_SHARED ABOARD_HOT void aboard_lstm_f32(const aboard_lstm_f32_t *p, const float *in, const float *hidden,
                                              const float *cell, float *out, float *next_hidden, float *next_cell,
                                              const float *weights, const float *recurrent, const float *bias,
                                              int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->extents;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const float *h = hidden + batch * e->units;
        const float *c = cell + batch * e->units;
        float *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            float *const y = out + row * e->units;
            for (int32_t n = 0; n < e->units; ++n) {
                float fresh[ABOARD_LSTM_GATES] = {0.0f, 0.0f, 0.0f, 0.0f};
                float past[ABOARD_LSTM_GATES] = {0.0f, 0.0f, 0.0f, 0.0f};
                aboard_sums_of_four_f32(fresh, in + row * e->inputs, weights + n * ABOARD_LSTM_GATES * e->inputs,
                                        e->inputs);
                aboard_sums_of_four_f32(past, h, recurrent + n * ABOARD_LSTM_GATES * e->units, e->units);
                for (int32_t i = 0; i < ABOARD_LSTM_GATES; ++i) {
                    fresh[i] = fresh[i] + bias[n * ABOARD_LSTM_GATES + i] + past[i];
                }
                to[n] = aboard_lstm_cell_f32(p, fresh, c[n], &y[n]);
            }
            h = y;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units * sizeof(*h));
    }
}

#endif
