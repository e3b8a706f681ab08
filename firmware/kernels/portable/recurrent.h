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

/** Kind of a layer: its number of gates. */
#define ABOARD_RNN 1
#define ABOARD_GRU 3
#define ABOARD_LSTM 4

/** Functions of gates. */
#define ABOARD_GATE_SIGMOID 0
#define ABOARD_GATE_TANH 1

/** Parameters of aboard_recurrent_f32. */
typedef struct {
    int32_t steps;
    int32_t batches;
    int32_t inputs;
    int32_t units;
    int32_t cell;        /**< ABOARD_RNN, ABOARD_GRU or ABOARD_LSTM. */
    int32_t function[3]; /**< Of gates, candidate, and the cell's state in the result; others than above: max(x, 0). */
    bool is_reverse;     /**< Whether steps run from the last to the first. */
    bool resets_product; /**< Whether the reset gate of a GRU multiplies the product of the hidden state. */
    bool has_peepholes;  /**< Whether gates of an LSTM also read the cell's state. */
    float clip;          /**< Limit of what functions are applied to. */
} aboard_recurrent_t;

/** What a step reads and writes of one sample. */
typedef struct {
    const float *x;
    const float *weights;   /**< {gates * units, inputs}. */
    const float *recurrent; /**< {gates * units, units}. */
    const float *bias;      /**< {2, gates * units}. */
    const float *peepholes; /**< {3, units}; not read without peepholes. */
    float *hidden;          /**< {units}. */
    float *cell;            /**< {units}; not read but by an LSTM. */
    float *sums;            /**< {gates + 1, units}. */
} aboard_recurrent_step_t;

/** The function of a gate. */
ABOARD_INLINE float aboard_gate_f32(const aboard_recurrent_t *p, int32_t function, float x) {
    const float bounded = x > p->clip ? p->clip : x < -p->clip ? -p->clip : x;
    if (function == ABOARD_GATE_SIGMOID) {
        return ABOARD_LOGISTIC_F32(bounded);
    }
    return function == ABOARD_GATE_TANH ? ABOARD_TANH_F32(bounded) : bounded > 0.0f ? bounded : 0.0f;
}

/** Sum of products of two runs of numbers. */
ABOARD_INLINE float aboard_products_f32(const float *a, const float *b, int32_t count, float sum) {
    for (int32_t i = 0; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/** A step of a GRU, after the sums of inputs of all gates and those of the hidden state of the first two. */
ABOARD_INLINE void aboard_gru_step(const aboard_recurrent_t *p, const aboard_recurrent_step_t *s) {
    const int32_t units = p->units;
    const float *recurrent = s->recurrent + 2 * units * units;
    const float *bias = s->bias + 5 * units;
    float *update = s->sums;
    float *reset = s->sums + units;
    float *candidate = s->sums + 2 * units;
    float *own = s->sums + 3 * units;
    for (int32_t u = 0; u < 2 * units; ++u) {
        update[u] = aboard_gate_f32(p, p->function[0], update[u]);
    }
    if (p->resets_product) {
        for (int32_t u = 0; u < units; ++u) {
            own[u] = reset[u] * aboard_products_f32(recurrent + u * units, s->hidden, units, bias[u]);
        }
    } else {
        for (int32_t u = 0; u < units; ++u) {
            reset[u] *= s->hidden[u];
        }
        for (int32_t u = 0; u < units; ++u) {
            own[u] = aboard_products_f32(recurrent + u * units, reset, units, bias[u]);
        }
    }
    for (int32_t u = 0; u < units; ++u) {
        const float value = aboard_gate_f32(p, p->function[1], candidate[u] + own[u]);
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
        const float entered = aboard_gate_f32(p, p->function[0], sums[0] + (has ? holes[0] * before : 0.0f));
        const float kept =
            aboard_gate_f32(p, p->function[0], sums[2 * units] + (has ? holes[2 * units] * before : 0.0f));
        const float cell = kept * before + entered * aboard_gate_f32(p, p->function[1], sums[3 * units]);
        const float shown = aboard_gate_f32(p, p->function[0], sums[units] + (has ? holes[units] * cell : 0.0f));
        s->cell[u] = cell;
        const float value = p->function[2] == ABOARD_GATE_SIGMOID ? ABOARD_LOGISTIC_F32(cell)
                            : p->function[2] == ABOARD_GATE_TANH  ? ABOARD_TANH_F32(cell)
                            : cell > 0.0f                         ? cell
                                                                  : 0.0f;
        s->hidden[u] = shown * value;
    }
}

/** A step of one sample. */
ABOARD_INLINE void aboard_recurrent_step(const aboard_recurrent_t *p, const aboard_recurrent_step_t *s) {
    const int32_t rows = p->cell * p->units;
    /* The candidate of a GRU takes its part of the hidden state apart. */
    const int32_t joined = p->cell == ABOARD_GRU ? 2 * p->units : rows;
    for (int32_t row = 0; row < rows; ++row) {
        const float sum = aboard_products_f32(s->weights + row * p->inputs, s->x, p->inputs, s->bias[row]);
        s->sums[row] = row >= joined ? sum
                                     : sum + aboard_products_f32(s->recurrent + row * p->units, s->hidden, p->units,
                                                                 s->bias[rows + row]);
    }
    if (p->cell == ABOARD_GRU) {
        aboard_gru_step(p, s);
    } else if (p->cell == ABOARD_LSTM) {
        aboard_lstm_float_step(p, s);
    } else {
        for (int32_t u = 0; u < p->units; ++u) {
            s->hidden[u] = aboard_gate_f32(p, p->function[0], s->sums[u]);
        }
    }
}

/**
 * Computes a layer with a cell state: an LSTM.
 *
 * @param p            Parameters.
 * @param x            {steps, batches, inputs}.
 * @param weights      {gates * units, inputs}.
 * @param recurrent    {gates * units, units}.
 * @param bias         {2, gates * units}: of inputs, and of the hidden state.
 * @param peepholes    {3, units} of an LSTM: of the gates input, output and forget; one number without peepholes.
 * @param before       Hidden state at first, {batches, units}.
 * @param cell_before  Cell state at first, {batches, units}.
 * @param out          {steps, batches, units}, another memory than the operands, like the next two.
 * @param hidden       Hidden state at the end, {batches, units}.
 * @param cell         Cell state at the end, {batches, units}.
 * @param sums         Scratch of (gates + 1) * units floats.
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
            const aboard_recurrent_step_t s = {x + (time * p->batches + b) * p->inputs,
                                               weights,
                                               recurrent,
                                               bias,
                                               peepholes,
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
