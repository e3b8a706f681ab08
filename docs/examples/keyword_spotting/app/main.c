/* SPDX-License-Identifier: Apache-2.0 */
/* Spots keywords in the samples of a microphone. The board gives samples and takes decisions (board.h). */
#include <string.h>

#include "aboard/config.h"
#include "board.h"
#include "front_end.h"
#include "frontend/decisions.h"
#include "keywords.h"
#include "numbers.h"

#define FEATURES FRONT_END_FEATURES
#define FRAMES (KEYWORDS_INPUT_0_ELEMENTS / FEATURES)
#define CLASSES KEYWORDS_OUTPUT_0_ELEMENTS
#define BLOCK FRONT_END_HOP

static const aboard_average_t average = {CLASSES, AVERAGED};
static const aboard_decision_t decision = DECISION;

static uint8_t arena[KEYWORDS_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static front_end_t stream;
static front_end_scratch_t scratch;
static int8_t features[FRAMES * FEATURES];
static int8_t ring[AVERAGED * CLASSES];
static aboard_average_state_t averages;
static aboard_decision_state_t decided;
static uint32_t frames;

/* Runs the model on the last frames, and decides. */
static aboard_status_t run(int32_t *keyword) {
    memcpy(keywords_input_0(arena), features, sizeof features);
    const uint32_t start = board_ticks();
    const aboard_status_t status = keywords_run(arena, sizeof arena);
    board_measured(BOARD_MODEL, board_ticks() - start);
    if (status == ABOARD_OK) {
        int8_t scores[CLASSES];
        aboard_average(&average, &averages, ring, keywords_output_0(arena), scores);
        *keyword = aboard_decide(&decision, &decided, scores);
    }
    return status;
}

/* Takes samples; sets `*keyword` to the class that they complete, or to -1. */
static aboard_status_t listen(const int16_t *samples, int32_t count, int32_t *keyword) {
    *keyword = -1;
    while (count > 0) {
        const uint32_t start = board_ticks();
        const int32_t taken = front_end_push(&stream, samples, count);
        samples += taken;
        count -= taken;
        int8_t next[FEATURES];
        if (!front_end_read(&stream, &scratch, next)) {
            continue;
        }
        memmove(features, features + FEATURES, sizeof features - FEATURES);
        memcpy(features + sizeof features - FEATURES, next, FEATURES);
        board_measured(BOARD_FRONT_END, board_ticks() - start);
        if (++frames < FRAMES || (frames - FRAMES) % FRAMES_PER_RUN != 0) {
            continue;
        }
        const aboard_status_t status = run(keyword);
        if (status != ABOARD_OK) {
            return status;
        }
    }
    return ABOARD_OK;
}

int main(void) {
    int16_t samples[BLOCK];
    uint32_t heard = 0;
    front_end_reset(&stream);
    for (;;) {
        const int32_t count = board_microphone(samples, BLOCK);
        int32_t keyword;
        if (count <= 0) {
            return 0;
        }
        if (listen(samples, count, &keyword) != ABOARD_OK) {
            return 1;
        }
        heard += (uint32_t)count;
        if (keyword >= 0) {
            board_decided(keyword, heard);
        }
    }
}
