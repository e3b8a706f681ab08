/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises gestures in the samples of an accelerometer. The board gives samples and takes decisions (board.h). */
#include "aboard/config.h"
#include "board.h"
#include "frontend/decisions.h"
#include "frontend/frames.h"
#include "frontend/scale.h"
#include "gestures.h"
#include "numbers.h"

#define AXES 3
#define VALUES GESTURES_INPUT_0_ELEMENTS
#define CLASSES GESTURES_OUTPUT_0_ELEMENTS
#define BLOCK 4

static const aboard_frames_t frames = FRAMES;
static const aboard_scale_t scale = SCALE;
static const aboard_average_t average = {CLASSES, AVERAGED};
static const aboard_decision_t decision = DECISION;

static uint8_t arena[GESTURES_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
static aboard_frames_state_t stream;
static int16_t samples[VALUES];
static int16_t frame[VALUES];
static int8_t ring[AVERAGED * CLASSES];
static aboard_average_state_t averages;
static aboard_decision_state_t decided;

/* Runs the model on the last samples, and decides. */
static aboard_status_t run(int32_t *gesture) {
    const uint32_t start = board_ticks();
    aboard_scale_s16(&scale, frame, gestures_input_0(arena), VALUES);
    const uint32_t scaled = board_ticks();
    const aboard_status_t status = gestures_run(arena, sizeof arena);
    board_measured(BOARD_FRONT_END, scaled - start);
    board_measured(BOARD_MODEL, board_ticks() - scaled);
    if (status == ABOARD_OK) {
        int8_t scores[CLASSES];
        aboard_average(&average, &averages, ring, gestures_output_0(arena), scores);
        *gesture = aboard_decide(&decision, &decided, scores);
    }
    return status;
}

/* Takes values of samples; sets `*gesture` to the class that they complete, or to -1. */
static aboard_status_t feel(const int16_t *values, int32_t count, int32_t *gesture) {
    *gesture = -1;
    while (count > 0) {
        const int32_t taken = aboard_frames_push(&frames, &stream, samples, values, count);
        values += taken;
        count -= taken;
        if (aboard_frames_read(&frames, &stream, samples, frame)) {
            const aboard_status_t status = run(gesture);
            if (status != ABOARD_OK) {
                return status;
            }
        }
    }
    return ABOARD_OK;
}

int main(void) {
    int16_t values[BLOCK * AXES];
    uint32_t felt = 0;
    for (;;) {
        const int32_t count = board_accelerometer(values, BLOCK);
        int32_t gesture;
        if (count <= 0) {
            return 0;
        }
        if (feel(values, count * AXES, &gesture) != ABOARD_OK) {
            return 1;
        }
        felt += (uint32_t)count;
        if (gesture >= 0) {
            board_decided(gesture, felt);
        }
    }
}
