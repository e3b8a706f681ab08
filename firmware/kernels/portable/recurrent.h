/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file portable/recurrent.h
 * RNN, GRU and LSTM layers of float32, step by step. All tensors lie in memory without gaps.
 */
#ifndef ABOARD_KERNELS_PORTABLE_RECURRENT_H
#define ABOARD_KERNELS_PORTABLE_RECURRENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "aboard/config.h"
#include "float_math.h"
#include "sums_of_four_f32.h"

/** Kind of a layer: its number of gates. */
#define ABOARD_RNN 1
#define ABOARD_GRU 3
#define ABOARD_LSTM 4

/** Functions of gates; others than these are x / (1 + |x|). */
#define ABOARD_GATE_SIGMOID 0
#define ABOARD_GATE_TANH 1
#define ABOARD_GATE_RELU 2
#define ABOARD_GATE_HARD_SIGMOID 3 /**< alpha * x + beta, in [0, 1]. */
#define ABOARD_GATE_LEAKY_RELU 4   /**< alpha * x below 0. */

/** A function of a gate with its parameters. */
typedef struct {
    int32_t number;
    float alpha;
    float beta;
} aboard_gate_t;

/** Parameters of aboard_recurrent_f32. */
typedef struct {
    int32_t steps;
    int32_t batches;
    int32_t inputs;
    int32_t units;
    int32_t cell;              /**< ABOARD_RNN, ABOARD_GRU or ABOARD_LSTM. */
    aboard_gate_t function[3]; /**< Of gates, candidate, and the cell's state in the result. */
    bool is_reverse;           /**< Whether steps run from the last to the first. */
    bool resets_product;       /**< Whether the reset gate of a GRU multiplies the product of the hidden state. */
    bool is_coupled;           /**< Whether an LSTM forgets what its input gate leaves. */
    bool has_peepholes;        /**< Whether gates of an LSTM also read the cell's state. */
    float clip;                /**< Limit of what the functions of gates and candidate are applied to. */
} aboard_recurrent_t;

/** What a step reads and writes of one sample; the first three as for aboard_recurrent_f32. */
typedef struct {
    const float *weights;
    const float *recurrent;
    const float *bias;
    const float *peepholes;
    const float *x;
    float *hidden; /**< {units}. */
    float *cell;   /**< {units}; not read but by an LSTM. */
    float *sums;   /**< As many as in `bias`. */
} aboard_recurrent_step_t;

/** Numbers that rows of weights take, filled up to whole blocks of four. */
ABOARD_INLINE int32_t aboard_whole_blocks(int32_t rows) {
    return (rows + 3) / 4 * 4;
}

/** A function. */
ABOARD_INLINE float aboard_gate_function_f32(const aboard_gate_t *f, float x) {
    switch (f->number) {
    case ABOARD_GATE_SIGMOID:
        return ABOARD_LOGISTIC_F32(x);
    case ABOARD_GATE_TANH:
        return ABOARD_TANH_F32(x);
    case ABOARD_GATE_RELU:
        return x > 0.0f ? x : 0.0f;
    case ABOARD_GATE_HARD_SIGMOID: {
        const float line = f->alpha * x + f->beta;
        return line > 1.0f ? 1.0f : line < 0.0f ? 0.0f : line;
    }
    case ABOARD_GATE_LEAKY_RELU:
        return x < 0.0f ? f->alpha * x : x;
    default:
        return x / (1.0f + (x < 0.0f ? -x : x));
    }
}

/** The function of a gate or candidate, within the limits. */
ABOARD_INLINE float aboard_gate_f32(const aboard_recurrent_t *p, int32_t place, float x) {
    const float bounded = x > p->clip ? p->clip : x < -p->clip ? -p->clip : x;
    return aboard_gate_function_f32(&p->function[place], bounded);
}

/** Adds the products of rows of weights with a vector of `count` numbers to sums; `rows` is a multiple of four. */
ABOARD_INLINE void aboard_products_of_rows_f32(float *sums, const float *x, const float *weights, int32_t rows,
                                               int32_t count) {
    for (int32_t row = 0; row < rows; row += 4) {
        aboard_sums_of_four_f32(sums + row, x, weights + row * count, count);
    }
}

/** A step of a GRU, after the sums of all gates; without the candidate's part of the hidden state. */
ABOARD_INLINE void aboard_gru_step(const aboard_recurrent_t *p, const aboard_recurrent_step_t *s) {
    const int32_t units = p->units;
    const int32_t joined = aboard_whole_blocks(2 * units);
    const int32_t apart = aboard_whole_blocks(units);
    const float *recurrent = s->recurrent + joined * units;
    float *update = s->sums;
    float *reset = s->sums + units;
    float *candidate = s->sums + joined;
    float *own = candidate + apart;
    for (int32_t u = 0; u < 2 * units; ++u) {
        update[u] = aboard_gate_f32(p, 0, update[u]);
    }
    if (p->resets_product) {
        aboard_products_of_rows_f32(own, s->hidden, recurrent, apart, units);
        for (int32_t u = 0; u < units; ++u) {
            own[u] *= reset[u];
        }
    } else {
        for (int32_t u = 0; u < units; ++u) {
            reset[u] *= s->hidden[u];
        }
        aboard_products_of_rows_f32(own, reset, recurrent, apart, units);
    }
    for (int32_t u = 0; u < units; ++u) {
        const float value = aboard_gate_f32(p, 1, candidate[u] + own[u]);
        s->hidden[u] = (1.0f - update[u]) * value + update[u] * s->hidden[u];
    }
}

/** A step of an LSTM, after the sums of all gates: input, output, forget, cell. */
ABOARD_INLINE void aboard_lstm_float_step(const aboard_recurrent_t *p, const aboard_recurrent_step_t *s) {
    const int32_t units = p->units;
    for (int32_t u = 0; u < units; ++u) {
        const float *sums = s->sums + u;
        const float before = s->cell[u];
        const float *holes = s->peepholes + u;
        const bool has = p->has_peepholes;
        const float entered = aboard_gate_f32(p, 0, sums[0] + (has ? holes[0] * before : 0.0f));
        const float kept = p->is_coupled
                               ? 1.0f - entered
                               : aboard_gate_f32(p, 0, sums[2 * units] + (has ? holes[2 * units] * before : 0.0f));
        const float cell = kept * before + entered * aboard_gate_f32(p, 1, sums[3 * units]);
        const float shown = aboard_gate_f32(p, 0, sums[units] + (has ? holes[units] * cell : 0.0f));
        s->cell[u] = cell;
        s->hidden[u] = shown * aboard_gate_function_f32(&p->function[2], cell);
    }
}

/** A step of one sample. */
ABOARD_INLINE void aboard_recurrent_step(const aboard_recurrent_t *p, const aboard_recurrent_step_t *s) {
    const bool is_gru = p->cell == ABOARD_GRU;
    /* The candidate of a GRU has rows apart, and takes its part of the hidden state later. */
    const int32_t joined = aboard_whole_blocks(is_gru ? 2 * p->units : p->cell * p->units);
    const int32_t apart = is_gru ? aboard_whole_blocks(p->units) : 0;
    memcpy(s->sums, s->bias, (size_t)(joined + 2 * apart) * sizeof(float));
    aboard_products_of_rows_f32(s->sums, s->x, s->weights, joined + apart, p->inputs);
    aboard_products_of_rows_f32(s->sums, s->hidden, s->recurrent, joined, p->units);
    if (is_gru) {
        aboard_gru_step(p, s);
    } else if (p->cell == ABOARD_LSTM) {
        aboard_lstm_float_step(p, s);
    } else {
        for (int32_t u = 0; u < p->units; ++u) {
            s->hidden[u] = aboard_gate_f32(p, 0, s->sums[u]);
        }
    }
}

/**
 * Computes a layer with a cell state: an LSTM.
 *
 * @param p            Parameters.
 * @param x            {steps, batches, inputs}.
 * @param weights      {blocks of four rows, inputs, 4}: a row for each unit of each gate. Rows of zeros fill the last
 *                     block, and those before the candidate of a GRU.
 * @param recurrent    {blocks of four rows, units, 4}, likewise.
 * @param bias         A number for each row, the sum of both biases; of a GRU's candidate that of inputs, and behind
 *                     these that of the hidden state.
 * @param peepholes    {3, units} of an LSTM: of the gates input, output and forget; one number without peepholes.
 * @param before       Hidden state at first, {batches, units}.
 * @param cell_before  Cell state at first, {batches, units}.
 * @param out          {steps, batches, units}, another memory than the operands, like the next two.
 * @param hidden       Hidden state at the end, {batches, units}.
 * @param cell         Cell state at the end, {batches, units}.
 * @param sums         Scratch of as many floats as `bias`.
 * @param first, last  All rows of the result.
 */
ABOARD_INLINE void aboard_recurrent_f32(const aboard_recurrent_t *p, const float *x, const float *weights,
                                        const float *recurrent, const float *bias, const float *peepholes,
                                        const float *before, const float *cell_before, float *out, float *hidden,
                                        float *cell, float *sums, int32_t first, int32_t last) {
    const size_t state_bytes = (size_t)(p->batches * p->units) * sizeof(float);
    (void)first;
    (void)last;
    memcpy(hidden, before, state_bytes);
    if (p->cell == ABOARD_LSTM) {
        memcpy(cell, cell_before, state_bytes);
    }
    for (int32_t step = 0; step < p->steps; ++step) {
        const int32_t time = p->is_reverse ? p->steps - 1 - step : step;
        for (int32_t b = 0; b < p->batches; ++b) {
            const aboard_recurrent_step_t s = {weights,
                                               recurrent,
                                               bias,
                                               peepholes,
                                               x + (time * p->batches + b) * p->inputs,
                                               hidden + b * p->units,
                                               cell + b * p->units,
                                               sums};
            aboard_recurrent_step(p, &s);
        }
        memcpy(out + time * p->batches * p->units, hidden, state_bytes);
    }
}

/** Computes a layer without a cell state, an RNN or a GRU; parameters as for aboard_recurrent_f32. */
ABOARD_INLINE void aboard_recurrent_without_cell_f32(const aboard_recurrent_t *p, const float *x, const float *weights,
                                                     const float *recurrent, const float *bias, const float *before,
                                                     float *out, float *hidden, float *sums, int32_t first,
                                                     int32_t last) {
    aboard_recurrent_f32(p, x, weights, recurrent, bias, bias, before, before, out, hidden, hidden, sums, first, last);
}

#endif
