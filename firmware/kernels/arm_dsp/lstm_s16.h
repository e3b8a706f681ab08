/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arm_dsp/lstm_s16.h
 * Layers of long short-term memory of int16 with the DSP extension; results as those of aboard_lstm_s16.
 *
 * The host has proven that sums fit 32 bits. So SMLAD sums two products at once, and a rounding high product rescales.
 */
#ifndef ABOARD_KERNELS_ARM_DSP_LSTM_S16_H
#define ABOARD_KERNELS_ARM_DSP_LSTM_S16_H

#include <stdint.h>
#include <string.h>

#include "../portable/epilogue_s16.h"
#include "aboard/config.h"
#include "four_channels.h"
#include "lstm.h"

/** Parameters of aboard_lstm_dsp_s16. */
typedef struct {
    aboard_lstm_extents_t extents;
    int32_t input[ABOARD_LSTM_GATES];     /**< Multipliers of products with the input: (sum * m + 2^31) >> 32. */
    int32_t recurrent[ABOARD_LSTM_GATES]; /**< Of products with the hidden state. */
    aboard_lstm_dsp_cell_t cell;
} aboard_lstm_dsp_s16_t;

/** A gate before its function from both sums. */
ABOARD_INLINE int32_t aboard_lstm_dsp_s16_gate(const aboard_lstm_dsp_s16_t *p, int32_t fresh, int32_t past,
                                               int32_t gate) {
    return aboard_dsp_saturate_s16(aboard_dsp_saturate_s16(aboard_rounded_high_mul(fresh, p->input[gate])) +
                                   aboard_dsp_saturate_s16(aboard_rounded_high_mul(past, p->recurrent[gate])));
}

/** The next cell state of a unit from its sums, and its hidden state. */
ABOARD_INLINE int16_t aboard_lstm_dsp_s16_unit(const aboard_lstm_dsp_s16_t *p, const int32_t *fresh,
                                               const int32_t *past, int32_t cell, const uint16_t *table, int16_t *y) {
    const int32_t forget = aboard_lstm_dsp_s16_gate(p, fresh[1], past[1], 1);
    const int32_t kept = aboard_lstm_dsp_kept(&p->cell, forget, cell, table);
    const int32_t input = aboard_lstm_dsp_logistic(aboard_lstm_dsp_s16_gate(p, fresh[0], past[0], 0), table);
    const int32_t next =
        aboard_lstm_dsp_next(&p->cell, kept, input, aboard_lstm_dsp_s16_gate(p, fresh[2], past[2], 2), table);
    const int32_t output = aboard_lstm_dsp_s16_gate(p, fresh[3], past[3], 3);
    *y = (int16_t)aboard_dsp_saturate_s16(aboard_lstm_dsp_hidden(&p->cell, next, output, table));
    return (int16_t)next;
}

/** Copies values to words of two, and fills the last tap group with zeros; returns the end. */
ABOARD_INLINE uint32_t *aboard_lstm_dsp_s16_stage(uint32_t *to, const int16_t *from, int32_t count) {
    uint32_t *const end = to + (count + ABOARD_DSP_TAP_GROUP - 1) / ABOARD_DSP_TAP_GROUP * 2;
    end[-2] = end[-1] = 0;
    memcpy(to, from, (size_t)count * sizeof(*from));
    return end;
}

/**
 * A sequence of steps; parameters are those of aboard_lstm_s16 but:
 *
 * @param weights Of each unit: those of the input and those of the hidden state, each for the four gates, see
 *                aboard_dsp_four_sums; taps of a tap group in the order 0, 2, 1, 3.
 * @param table   As for aboard_logistic_s16.
 * @param words   Scratch of two words per tap group of inputs and of units.
 */
ABOARD_SHARED ABOARD_HOT void aboard_lstm_dsp_s16(const aboard_lstm_dsp_s16_t *p, const int16_t *in,
                                                  const int16_t *hidden, const int16_t *cell, int16_t *out,
                                                  int16_t *next_hidden, int16_t *next_cell, const uint32_t *weights,
                                                  const uint16_t *table, uint32_t *words, int32_t first ABOARD_UNUSED,
                                                  int32_t last ABOARD_UNUSED) {
    const aboard_lstm_extents_t *const e = &p->extents;
    for (int32_t batch = 0; batch < e->batches; ++batch) {
        const int16_t *h = hidden + batch * e->units;
        const int16_t *c = cell + batch * e->units;
        int16_t *const to = next_cell + batch * e->units;
        for (int32_t step = 0; step < e->steps; ++step) {
            const int32_t row = batch * e->batch_rows + step * e->step_rows;
            int16_t *const y = out + row * e->units;
            uint32_t *const middle = aboard_lstm_dsp_s16_stage(words, in + row * e->inputs, e->inputs);
            const uint32_t *const end = aboard_lstm_dsp_s16_stage(middle, h, e->units);
            const uint32_t *w = weights;
            for (int32_t n = 0; n < e->units; ++n) {
                int32_t fresh[ABOARD_LSTM_GATES], past[ABOARD_LSTM_GATES];
                w = aboard_dsp_four_sums(w, words, middle, fresh);
                w = aboard_dsp_four_sums(w, middle, end, past);
                to[n] = aboard_lstm_dsp_s16_unit(p, fresh, past, c[n], table, &y[n]);
            }
            h = y;
            c = to;
        }
        memcpy(next_hidden + batch * e->units, h, (size_t)e->units * sizeof(*h));
    }
}

#endif
