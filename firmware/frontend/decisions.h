/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frontend/decisions.h
 * From scores of a classifier to decisions: a moving average of the scores of each class, and a debounced decision.
 * host/aboard/frontend/decisions.py is the same in numpy.
 */
#ifndef ABOARD_FRONTEND_DECISIONS_H
#define ABOARD_FRONTEND_DECISIONS_H

#include <stdint.h>

#include "aboard/config.h"

/** Parameters of a moving average. */
typedef struct {
    int32_t classes; /**< Scores of a run of the model. */
    int32_t length;  /**< Runs that are averaged. */
} aboard_average_t;

/** State of a moving average; zero is its beginning. The ring with the scores is beside it. */
typedef struct {
    int32_t next;  /**< Place of the next run in the ring. */
    int32_t count; /**< Runs in the ring. */
} aboard_average_state_t;

/**
 * Averages the scores of the last runs, rounded half up; at the beginning, of those there are.
 *
 * @param p         Parameters.
 * @param state     State.
 * @param ring      Ring of length * classes scores.
 * @param scores    The scores of the next run, one for each class.
 * @param averages  Gets the averages, one for each class; may be the memory of `scores`.
 */
ABOARD_INLINE void aboard_average(const aboard_average_t *p, aboard_average_state_t *state, int8_t *ring,
                                  const int8_t *scores, int8_t *averages) {
    state->count = ABOARD_MIN(state->count + 1, p->length);
    for (int32_t i = 0; i < p->classes; ++i) {
        ring[state->next * p->classes + i] = scores[i];
        int32_t sum = 0;
        for (int32_t run = 0; run < state->count; ++run) {
            sum += ring[run * p->classes + i];
        }
        /* Scores from 0 on: a quotient of C is cut off toward 0. */
        const int32_t raised = 2 * (sum - INT8_MIN * state->count) + state->count;
        averages[i] = (int8_t)(raised / (2 * state->count) + INT8_MIN);
    }
    state->next = state->next + 1 < p->length ? state->next + 1 : 0;
}

/** Parameters of decisions. */
typedef struct {
    int32_t classes;    /**< Scores of a run. */
    int32_t background; /**< The class that stands for nothing and is never decided; -1 for none. */
    int32_t threshold;  /**< Score from which on a class counts. */
    int32_t release;    /**< Score below which a decided class may be decided again; at most the threshold. */
    int32_t needed;     /**< Runs in sequence in which one class must count, at least 1. */
    int32_t pause;      /**< Runs after a decision without another. */
} aboard_decision_t;

/** State of decisions; zero is its beginning. */
typedef struct {
    int32_t held;    /**< Class of the last decision, and 1; 0 once it was released. */
    int32_t leading; /**< Class that counted in the last runs, and 1; 0 for none. */
    int32_t runs;    /**< Runs in sequence in which it counted. */
    int32_t waiting; /**< Runs of the pause that are left. */
} aboard_decision_state_t;

/**
 * Decides. The class with the highest score counts if the score is at least the threshold; of equal scores, the first.
 *
 * @param p       Parameters.
 * @param state   State.
 * @param scores  Scores or averages of the next run.
 * @return        The class that is decided in this run, or -1.
 */
ABOARD_INLINE int32_t aboard_decide(const aboard_decision_t *p, aboard_decision_state_t *state, const int8_t *scores) {
    int32_t best = 0;
    for (int32_t i = 1; i < p->classes; ++i) {
        best = scores[i] > scores[best] ? i : best;
    }
    if (state->held > 0 && scores[state->held - 1] < p->release) {
        state->held = 0;
    }
    const int32_t leading = scores[best] < p->threshold || best == p->background ? 0 : best + 1;
    state->runs = leading == 0 ? 0 : leading == state->leading ? state->runs + 1 : 1;
    state->leading = leading;
    if (state->waiting > 0) {
        --state->waiting;
        return -1;
    }
    if (leading == 0 || leading == state->held || state->runs < p->needed) {
        return -1;
    }
    state->held = leading;
    state->waiting = p->pause;
    return best;
}

#endif
