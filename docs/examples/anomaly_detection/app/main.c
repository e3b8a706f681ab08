/* SPDX-License-Identifier: Apache-2.0 */
/* Finds anomalies in the sound of a machine. The board gives samples and takes decisions (board.h). */
#include <string.h>

#include "aboard/config.h"
#include "autoencoder.h"
#include "board.h"
#include "front_end.h"
#include "frontend/decisions.h"
#include "frontend/scale.h"
#include "numbers.h"

#define FEATURES FRONT_END_FEATURES
#define INPUTS AUTOENCODER_INPUT_0_ELEMENTS
#define FRAMES (INPUTS / FEATURES)
#define BLOCK FRONT_END_HOP

static const aboard_scale_t restored = RESTORED;
static const aboard_average_t average = {1, AVERAGED};
static const aboard_decision_t decision = DECISION;

static uint8_t arena[AUTOENCODER_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static front_end_t stream;
static front_end_scratch_t scratch;
static int8_t features[INPUTS];
static int8_t ring[AVERAGED];
static aboard_average_state_t averages;
static aboard_decision_state_t decided;
static int32_t frames;

/* The squared error of what the model gives back for the features, as a score: -128 for none, 127 for a large one. */
static aboard_status_t score(int8_t *found) {
    memcpy(autoencoder_input_0(arena), features, sizeof features);
    const uint32_t start = board_ticks();
    const aboard_status_t status = autoencoder_run(arena, sizeof arena);
    board_measured(BOARD_MODEL, board_ticks() - start);
    int8_t *results = autoencoder_output_0(arena);
    aboard_scale_s8(&restored, results, results, INPUTS);
    int32_t error = 0;
    for (int32_t i = 0; i < INPUTS; ++i) {
        const int32_t difference = results[i] - features[i];
        error += difference * difference;
    }
    *found = (int8_t)(ABOARD_MIN(error >> ERROR_SHIFT, UINT8_MAX) + INT8_MIN);
    return status;
}

/* Takes samples; sets `*anomaly` if they complete a run that decides for one. */
static aboard_status_t listen(const int16_t *samples, int32_t count, bool *anomaly) {
    *anomaly = false;
    while (count > 0) {
        const uint32_t start = board_ticks();
        const int32_t taken = front_end_push(&stream, samples, count);
        samples += taken;
        count -= taken;
        if (!front_end_read(&stream, &scratch, features + frames * FEATURES)) {
            continue;
        }
        board_measured(BOARD_FRONT_END, board_ticks() - start);
        if (++frames < FRAMES) {
            continue;
        }
        frames = 0;
        int8_t next;
        const aboard_status_t status = score(&next);
        if (status != ABOARD_OK) {
            return status;
        }
        aboard_average(&average, &averages, ring, &next, &next);
        *anomaly = aboard_decide(&decision, &decided, &next) >= 0;
    }
    return ABOARD_OK;
}

int main(void) {
    int16_t samples[BLOCK];
    uint32_t heard = 0;
    front_end_reset(&stream);
    for (;;) {
        const int32_t count = board_microphone(samples, BLOCK);
        bool anomaly;
        if (count <= 0) {
            return 0;
        }
        if (listen(samples, count, &anomaly) != ABOARD_OK) {
            return 1;
        }
        heard += (uint32_t)count;
        if (anomaly) {
            board_decided(0, heard);
        }
    }
}
