/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/lstm.h
 * Layers of long short-term memory of int8 with the DSP extension; results as those of aboard_lstm_s8.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_LSTM_H
#define ABOARD_KERNELS_ARM_DSP_LSTM_H

#include <stdint.h>
#include <string.h>

#include "../portable/lstm.h"
#include "aboard/config.h"
#include "four_channels.h"
#include "fully_connected.h"
#include "signal_window.h"

/** How a unit's states follow from its gates. */
typedef struct {
    aboard_dsp_scale_t forget; /**< Of forget gate times cell state. */
    aboard_dsp_scale_t update; /**< Of input gate times cell gate. */
    aboard_dsp_scale_t output; /**< Of output gate times the tangent of the cell state. */
    int32_t multiplier;        /**< See aboard_sigmoid_s16_t: of the cell state. */
    int32_t shift;
    int32_t clip;       /**< Limit of the cell state; 0 for none. */
    int32_t zero_point; /**< Of the hidden state. */
} aboard_lstm_dsp_cell_t;

/** Parameters of aboard_lstm_dsp. */
typedef struct {
    aboard_lstm_extents_t extents;
    aboard_dsp_scale_t input[ABOARD_LSTM_GATES];     /**< Of products with the input. */
    aboard_dsp_scale_t recurrent[ABOARD_LSTM_GATES]; /**< Of products with the hidden state. */
    aboard_lstm_dsp_cell_t cell;
} aboard_lstm_dsp_t;

/** A rescaled number as int16. */
ABOARD_INLINE int32_t aboard_lstm_dsp_rescale(int32_t x, const aboard_dsp_scale_t *scale) {
    return aboard_dsp_saturate_s16(aboard_dsp_rescale(x, scale));
}

/** A gate before its function from both sums. */
ABOARD_INLINE int32_t aboard_lstm_dsp_gate(const aboard_lstm_dsp_t *p, int32_t fresh, int32_t past, int32_t gate) {
    return aboard_dsp_saturate_s16(aboard_lstm_dsp_rescale(fresh, &p->input[gate]) +
                                   aboard_lstm_dsp_rescale(past, &p->recurrent[gate]));
}

/** The logistic function of a gate: no argument is beyond the table. */
ABOARD_INLINE int32_t aboard_lstm_dsp_logistic(int32_t gate, const uint16_t *table) {
    const int32_t size = 3 * (gate < 0 ? -gate : gate);
    const uint16_t *const entry = table + (size >> ABOARD_LOGISTIC_BITS);
    const int32_t below = entry[0];
    const int32_t rest = size & ((1 << ABOARD_LOGISTIC_BITS) - 1);
    const int32_t value = (below << ABOARD_LOGISTIC_BITS) + rest * (entry[1] - below);
    return ((gate < 0 ? (1 << 25) - value - 1 : value) + (1 << 9)) >> 10;
}

/** What a unit keeps of its cell state, by its forget gate before the function. */
ABOARD_INLINE int32_t aboard_lstm_dsp_kept(const aboard_lstm_dsp_cell_t *p, int32_t forget, int32_t cell,
                                           const uint16_t *table) {
    return aboard_lstm_dsp_rescale(aboard_lstm_dsp_logistic(forget, table) * cell, &p->forget);
}

/** The next cell state of a unit from what it keeps, by its input gate and, before its function, its cell gate. */
ABOARD_INLINE int32_t aboard_lstm_dsp_next(const aboard_lstm_dsp_cell_t *p, int32_t kept, int32_t input, int32_t fresh,
                                           const uint16_t *table) {
    const aboard_sigmoid_s16_t of_gate = {.multiplier = 3, .shift = 0};
    const int32_t added = input * aboard_sigmoid_element(&of_gate, fresh, table, ABOARD_TANH_BITS);
    const int32_t next = aboard_dsp_saturate_s16(kept + aboard_lstm_dsp_rescale(added, &p->update));
    return p->clip > 0 ? aboard_clamp(next, -p->clip, p->clip) : next;
}

/** The hidden state of a unit, not saturated, from its next cell state and its output gate before the function. */
ABOARD_INLINE int32_t aboard_lstm_dsp_hidden(const aboard_lstm_dsp_cell_t *p, int32_t next, int32_t output,
                                             const uint16_t *table) {
    const aboard_sigmoid_s16_t of_cell = {.multiplier = p->multiplier, .shift = p->shift};
    const int32_t gate = aboard_lstm_dsp_logistic(output, table);
    const int32_t tangent = aboard_sigmoid_element(&of_cell, next, table, ABOARD_TANH_BITS);
    return aboard_dsp_rescale(tangent * gate, &p->output) + p->zero_point;
}

/** The next cell state of a unit from its sums, and its hidden state. */
ABOARD_INLINE int16_t aboard_lstm_dsp_unit(const aboard_lstm_dsp_t *p, const int32_t *fresh, const int32_t *past,
                                           int32_t cell, const uint16_t *table, int8_t *y) {
    const int32_t kept = aboard_lstm_dsp_kept(&p->cell, aboard_lstm_dsp_gate(p, fresh[1], past[1], 1), cell, table);
    const int32_t input = aboard_lstm_dsp_logistic(aboard_lstm_dsp_gate(p, fresh[0], past[0], 0), table);
    const int32_t next =
        aboard_lstm_dsp_next(&p->cell, kept, input, aboard_lstm_dsp_gate(p, fresh[2], past[2], 2), table);
    const int32_t output = aboard_lstm_dsp_gate(p, fresh[3], past[3], 3);
    *y = aboard_dsp_saturate(aboard_lstm_dsp_hidden(&p->cell, next, output, table));
    return (int16_t)next;
}

/**
 * A sequence of steps; parameters are those of aboard_lstm_s8 but:
 *
 * @param weights Of each unit: those of the input and those of the hidden state, each for the four gates, see
 *                aboard_dsp_four_sums.
 * @param table   As for aboard_logistic_s16.
 * @param words   Scratch of two words per tap group of inputs and of units.
 */
ABOARD_SHARED ABOARD_HOT void aboard_lstm_dsp(const aboard_lstm_dsp_t *p, const int8_t *in, const int8_t *hidden,
                                              const int16_t *cell, int8_t *out, int8_t *next_hidden, int16_t *next_cell,
                                              const uint32_t *weights, const uint16_t *table, uint32_t *words,
                                              int32_t first ABOARD_UNUSED, int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->extents;
    uint32_t *const middle = words + (e->inputs + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * 2;
    uint32_t *const end = middle + (e->units + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * 2;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const int8_t *h = hidden + batch * e->units;
        const int16_t *c = cell + batch * e->units;
        int16_t *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            int8_t *const y = out + row * e->units;
            aboard_fully_connected_dsp_widen(in + row * e->inputs, words, e->inputs);
            aboard_fully_connected_dsp_widen(h, middle, e->units);
            const uint32_t *w = weights;
            for (int32_t n = 0; n < e->units; ++n) {
                int32_t fresh[ABOARD_LSTM_GATES], past[ABOARD_LSTM_GATES];
                w = aboard_dsp_four_sums(w, words, middle, fresh);
                w = aboard_dsp_four_sums(w, middle, end, past);
                to[n] = aboard_lstm_dsp_unit(p, fresh, past, c[n], table, &y[n]);
            }
            h = y;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units);
    }
}

#endif
