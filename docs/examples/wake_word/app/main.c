/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hears a wake word in the samples of a microphone. The board gives samples and takes decisions (board.h).
 *
 *     samples -> front end -> the last 11 frames -> encoder -> its last 13 results -> scorer -> decision
 *
 * The encoder runs after every fourth frame, and its results are kept, so that nothing is computed twice.
 */
#include <string.h>

#include "aboard/config.h"
#include "board.h"
#include "encoder.h"
#include "front_end.h"
#include "frontend/decisions.h"
#include "frontend/scale.h"
#include "numbers.h"
#include "scorer.h"

#define FEATURES FRONT_END_FEATURES
#define FRAMES (ENCODER_INPUT_0_ELEMENTS / FEATURES)
#define CHANNELS ENCODER_OUTPUT_0_ELEMENTS
#define ENCODED (SCORER_INPUT_0_ELEMENTS / CHANNELS)
#define CLASSES SCORER_OUTPUT_0_ELEMENTS
#define BLOCK FRONT_END_HOP
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

static const aboard_scale_t link = LINK;
static const aboard_average_t average = {CLASSES, AVERAGED};
static const aboard_decision_t decision = DECISION;

/* The models do not run at the same time. */
static uint8_t arena[LARGER(ENCODER_ARENA_BYTES, SCORER_ARENA_BYTES)] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static front_end_t stream;
static front_end_scratch_t scratch;
static int8_t features[FRAMES * FEATURES];
static int8_t encoded[ENCODED * CHANNELS];
static int8_t ring[AVERAGED * CLASSES];
static aboard_average_state_t averages;
static aboard_decision_state_t decided;
static uint32_t frames, encodings;

/* Puts `count` values at the end of a window, whose oldest ones go. */
static void append(int8_t *window, size_t size, const int8_t *next, size_t count) {
    memmove(window, window + count, size - count);
    memcpy(window + size - count, next, count);
}

/* Runs the models on the last frames, and decides. */
static aboard_status_t run(int32_t *heard) {
    memcpy(encoder_input_0(arena), features, sizeof features);
    aboard_status_t status = encoder_run(arena, sizeof arena);
    int8_t *result = encoder_output_0(arena);
    aboard_scale_s8(&link, result, result, CHANNELS);
    append(encoded, sizeof encoded, result, CHANNELS);
    if (status != ABOARD_OK || ++encodings < ENCODED) {
        return status;
    }
    memcpy(scorer_input_0(arena), encoded, sizeof encoded);
    status = scorer_run(arena, sizeof arena);
    if (status == ABOARD_OK) {
        int8_t scores[CLASSES];
        aboard_average(&average, &averages, ring, scorer_output_0(arena), scores);
        *heard = aboard_decide(&decision, &decided, scores);
    }
    return status;
}

/* Takes samples; sets `*heard` to the class that they complete, or to -1. */
static aboard_status_t listen(const int16_t *samples, int32_t count, int32_t *heard) {
    *heard = -1;
    while (count > 0) {
        const uint32_t start = board_ticks();
        const int32_t taken = front_end_push(&stream, samples, count);
        samples += taken;
        count -= taken;
        int8_t next[FEATURES];
        if (!front_end_read(&stream, &scratch, next)) {
            continue;
        }
        append(features, sizeof features, next, FEATURES);
        const uint32_t framed = board_ticks();
        board_measured(BOARD_FRONT_END, framed - start);
        if (++frames < FRAMES || (frames - FRAMES) % FRAMES_PER_RUN != 0) {
            continue;
        }
        const aboard_status_t status = run(heard);
        board_measured(BOARD_MODEL, board_ticks() - framed);
        if (status != ABOARD_OK) {
            return status;
        }
    }
    return ABOARD_OK;
}

int main(void) {
    int16_t samples[BLOCK];
    uint32_t taken = 0;
    front_end_reset(&stream);
    for (;;) {
        const int32_t count = board_microphone(samples, BLOCK);
        int32_t heard;
        if (count <= 0) {
            return 0;
        }
        if (listen(samples, count, &heard) != ABOARD_OK) {
            return 1;
        }
        taken += (uint32_t)count;
        if (heard >= 0) {
            board_decided(heard, taken);
        }
    }
}
