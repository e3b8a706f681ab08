/* SPDX-License-Identifier: Apache-2.0 */
#include "toy_models.h"

#include <string.h>

#include "aboard/config.h"

#define ROWS 2
#define ROW 12
#define PIXELS 6
#define BYTES 24
#define DEAD 2
#define A_AT 0
#define B_AT 32
#define NEGATED_AT 64
#define MASKED_AT 96
#define ARENA 128

uint32_t toy_runs;
uint32_t toy_op_runs;
void (*toy_in_the_middle)(void);

static int8_t clamp(int32_t x) {
    return (int8_t)(x < -128 ? -128 : x > 127 ? 127 : x);
}

static void add(int8_t *sum, const int8_t *a, const int8_t *b, int count) {
    for (int i = 0; i < count; ++i) {
        sum[i] = clamp(a[i] + b[i]);
    }
}

/* Three channels of each pixel, which stay four bytes apart. */
static void negate(int8_t *out, const int8_t *in, int count) {
    for (int pixel = 0; pixel < count / 4; ++pixel) {
        out[4 * pixel] = clamp(-in[4 * pixel]);
        out[4 * pixel + 1] = clamp(-in[4 * pixel + 1]);
        out[4 * pixel + 2] = clamp(-in[4 * pixel + 3]);
    }
}

static void widen(int8_t *out, const int8_t *in, int count) {
    for (int pixel = 0; pixel < count / 4; ++pixel) {
        out[4 * pixel] = in[4 * pixel];
        out[4 * pixel + 1] = in[4 * pixel + 1];
        out[4 * pixel + DEAD] = 0;
        out[4 * pixel + 3] = in[4 * pixel + 2];
    }
}

static void step(int8_t *arena, uint16_t node, int row) {
    int8_t *a = arena + A_AT + row * ROW;
    int8_t *negated = arena + NEGATED_AT + row * ROW;
    if (node == 0) {
        add(a, a, arena + B_AT + row * ROW, ROW);
    } else if (node == 1) {
        negate(negated, a, ROW);
    } else {
        widen(arena + MASKED_AT + row * ROW, negated, ROW);
    }
}

static aboard_trace_t trace_of(const int8_t *arena, uint16_t node, int row) {
    static const int places[3] = {A_AT, NEGATED_AT, MASKED_AT};
    return (aboard_trace_t){.data = (const uint8_t *)arena + places[node] + row * ROW,
                            .row_stride = ROW,
                            .pixel_stride = 4,
                            .node = node,
                            .output = 0,
                            .first = (uint32_t)row,
                            .rows = 1,
                            .cols = 3,
                            .channels = node == 1 ? 3 : 4,
                            .element_bytes = 1};
}

static aboard_status_t hooked_step(int8_t *arena, uint16_t node, int row, const aboard_hooks_t *hooks) {
    aboard_status_t status = ABOARD_OK;
    if (hooks != NULL && hooks->begin != NULL) {
        status = hooks->begin(hooks->user, node);
    }
    step(arena, node, row);
    if (status == ABOARD_OK && hooks != NULL && hooks->end != NULL) {
        status = hooks->end(hooks->user, node);
    }
    if (status == ABOARD_OK && hooks != NULL && hooks->trace != NULL) {
        const aboard_trace_t trace = trace_of(arena, node, row);
        status = hooks->trace(hooks->user, &trace);
    }
    return status;
}

/* Row by row through all nodes, as a cascade does. */
static aboard_status_t adder_run(void *memory, size_t arena_bytes, const aboard_hooks_t *hooks) {
    int8_t *arena = memory;
    if (arena_bytes < ARENA) {
        return ABOARD_ERROR_ARENA_TOO_SMALL;
    }
    toy_runs++;
    memset(arena + NEGATED_AT, 0x55, ARENA - NEGATED_AT);
    for (int row = 0; row < ROWS; ++row) {
        for (uint16_t node = 0; node < 3; ++node) {
            const aboard_status_t status = hooked_step(arena, node, row, hooks);
            if (status != ABOARD_OK) {
                return status;
            }
        }
        if (toy_in_the_middle != NULL) {
            toy_in_the_middle();
        }
    }
    memset(arena + B_AT, 0x77, BYTES);
    return ABOARD_OK;
}

static aboard_status_t adder_run_op(uint16_t node, void *workspace, size_t workspace_bytes) {
    int8_t *memory = workspace;
    if (workspace_bytes < 96) {
        return ABOARD_ERROR_ARENA_TOO_SMALL;
    }
    toy_op_runs++;
    if (node == 0) {
        add(memory + 64, memory, memory + 32, BYTES);
    } else if (node == 1) {
        negate(memory + 32, memory, BYTES);
    } else {
        widen(memory + 32, memory, BYTES);
    }
    return ABOARD_OK;
}

static aboard_status_t doubler_run(void *memory, size_t arena_bytes, const aboard_hooks_t *hooks) {
    float values[5];
    if (arena_bytes < 48) {
        return ABOARD_ERROR_ARENA_TOO_SMALL;
    }
    (void)hooks;
    toy_runs++;
    memcpy(values, memory, sizeof values);
    for (int i = 0; i < 5; ++i) {
        values[i] *= 2.0f;
    }
    memcpy((uint8_t *)memory + 24, values, sizeof values);
    return ABOARD_OK;
}

/* The first four bytes of each arena are not used. */
static aboard_status_t divided_run(const aboard_memory_t *memory, const aboard_hooks_t *hooks) {
    (void)hooks;
    toy_runs++;
    for (int i = 4; i < 12; ++i) {
        memory[1].data[i] = (uint8_t)(memory[0].data[i] + 1);
        memory[0].data[i] = 0x66;
    }
    return ABOARD_OK;
}

static const aboard_tensor_t adder_inputs[] = {{A_AT, BYTES, ABOARD_INT8, 0}, {B_AT, BYTES, ABOARD_INT8, 0}};
static const aboard_tensor_t adder_outputs[] = {{A_AT, BYTES, ABOARD_INT8, 0}, {MASKED_AT, BYTES, ABOARD_INT8, 0}};
static const aboard_tensor_t doubler_inputs[] = {{0, 20, ABOARD_FLOAT32, 0}};
static const aboard_tensor_t doubler_outputs[] = {{24, 20, ABOARD_FLOAT32, 0}};
static const aboard_tensor_t divided_inputs[] = {{4, 8, ABOARD_UINT8, 0}};
static const aboard_tensor_t divided_outputs[] = {{4, 8, ABOARD_UINT8, 1}};
static const aboard_arena_t divided_arenas[] = {{"dtcm", 12}, {"sram", 16}};

const aboard_model_t toy_divided = {.name = "divided",
                                    .arena_bytes = 28,
                                    .nodes = 1,
                                    .input_count = 1,
                                    .output_count = 1,
                                    .inputs = divided_inputs,
                                    .outputs = divided_outputs,
                                    .arena_count = 2,
                                    .arenas = divided_arenas,
                                    .run_in = divided_run};

const aboard_model_t toy_adder = {.name = "adder",
                                  .hash = {0xad, 0xde, 1, 2, 3},
                                  .arena_bytes = ARENA,
                                  .nodes = 3,
                                  .input_count = 2,
                                  .output_count = 2,
                                  .inputs_kept = false,
                                  .inputs = adder_inputs,
                                  .outputs = adder_outputs,
                                  .op_bytes = 96,
                                  .run = adder_run,
                                  .run_op = adder_run_op};

const aboard_model_t toy_doubler = {.name = "doubler",
                                    .hash = {0xd0, 0xb1, 4, 5, 6},
                                    .arena_bytes = 48,
                                    .nodes = 1,
                                    .input_count = 1,
                                    .output_count = 1,
                                    .inputs_kept = true,
                                    .inputs = doubler_inputs,
                                    .outputs = doubler_outputs,
                                    .op_bytes = 0,
                                    .run = doubler_run,
                                    .run_op = NULL};

#define SUMMER_ROWS 4
#define SUMMER_ROW 6
/* In its arena: how many rows have come, the sum, and the row that comes next. */
#define SUM_AT 4
#define NEXT_AT 16
#define MARK_AT 24

static aboard_status_t summer_begin(const aboard_memory_t *memory) {
    memset(memory->data, 0, SUM_AT + SUMMER_ROW);
    return ABOARD_OK;
}

static void *summer_slot(const aboard_memory_t *memory) {
    return memory->data[0] < SUMMER_ROWS ? memory->data + NEXT_AT : NULL;
}

static aboard_status_t summer_push(const aboard_memory_t *memory, const void *row, const aboard_hooks_t *hooks) {
    uint8_t *sum = memory->data + SUM_AT;
    const uint8_t *in = row;
    const aboard_trace_t trace = {sum, SUMMER_ROW, 1, 0, 0, memory->data[0], 1, SUMMER_ROW, 1, 1};
    if (in[0] == 255) {
        return ABOARD_ERROR_DEVICE;
    }
    if (hooks != NULL && hooks->begin != NULL) {
        (void)hooks->begin(hooks->user, 0);
    }
    for (int i = 0; i < SUMMER_ROW; ++i) {
        sum[i] = (uint8_t)(sum[i] + in[i]);
    }
    if (hooks != NULL && hooks->end != NULL) {
        (void)hooks->end(hooks->user, 0);
    }
    memory->data[0]++;
    return hooks != NULL && hooks->trace != NULL ? hooks->trace(hooks->user, &trace) : ABOARD_OK;
}

static aboard_status_t summer_run(void *memory, size_t arena_bytes, const aboard_hooks_t *hooks) {
    uint8_t *rows = memory;
    (void)arena_bytes;
    (void)hooks;
    if (*rows != SUMMER_ROWS) {
        return ABOARD_ERROR_STATE;
    }
    ++*rows;
    toy_runs++;
    return ABOARD_OK;
}

static aboard_status_t summer_reset(const aboard_memory_t *memory) {
    memset(memory->data + MARK_AT, 7, 4);
    return ABOARD_OK;
}

static const aboard_tensor_t summer_states[] = {{MARK_AT, 4, ABOARD_UINT8, 0}};
static const aboard_tensor_t summer_inputs[] = {{NEXT_AT, SUMMER_ROWS * SUMMER_ROW, ABOARD_UINT8, 0}};
static const aboard_tensor_t summer_outputs[] = {{SUM_AT, SUMMER_ROW, ABOARD_UINT8, 0}};
static const aboard_stream_t summer_stream = {SUMMER_ROWS, SUMMER_ROW, summer_begin, summer_slot, summer_push};

const aboard_model_t toy_summer = {.name = "summer",
                                   .arena_bytes = 32,
                                   .nodes = 1,
                                   .input_count = 1,
                                   .output_count = 1,
                                   .inputs = summer_inputs,
                                   .outputs = summer_outputs,
                                   .run = summer_run,
                                   .stream = &summer_stream,
                                   .state_count = 1,
                                   .states = summer_states,
                                   .reset = summer_reset};

#define KEPT 4
/* In its arena: x, y. In its state block: total, runs, and whether a run has left the last element of total first. */
#define Y_AT 4
#define RUNS_AT 4
#define ROLLED_AT 6
#define STATE_BYTES 7

static aboard_status_t keeper_reset(const aboard_memory_t *memory) {
    static const uint8_t initial[STATE_BYTES] = {1, 2, 3, 4, 0, 0, 0};
    if (memory[1].data == NULL) {
        return ABOARD_ERROR_NULL;
    }
    memcpy(memory[1].data, initial, sizeof initial);
    return ABOARD_OK;
}

static aboard_status_t keeper_unroll(const aboard_memory_t *memory) {
    uint8_t *const total = memory[1].data;
    if (total[ROLLED_AT] != 0) {
        const uint8_t last = total[0];
        memmove(total, total + 1, KEPT - 1);
        total[KEPT - 1] = last;
        total[ROLLED_AT] = 0;
    }
    return ABOARD_OK;
}

static void keeper_roll(uint8_t *total) {
    const uint8_t last = total[KEPT - 1];
    memmove(total + 1, total, KEPT - 1);
    total[0] = last;
    total[ROLLED_AT] = 1;
}

static aboard_status_t keeper_run(const aboard_memory_t *memory, const aboard_hooks_t *hooks) {
    uint8_t *const arena = memory[0].data;
    uint8_t *const total = memory[1].data;
    (void)keeper_unroll(memory);
    const aboard_trace_t trace = {arena + Y_AT, KEPT, 1, 0, 0, 0, 1, KEPT, 1, 1};
    int16_t runs;
    toy_runs++;
    memcpy(&runs, total + RUNS_AT, sizeof runs);
    runs = (int16_t)(runs + 1);
    memcpy(total + RUNS_AT, &runs, sizeof runs);
    for (int i = 0; i < KEPT; ++i) {
        total[i] = (uint8_t)(total[i] + arena[i]);
    }
    memcpy(arena + Y_AT, total, KEPT);
    memset(arena, 0x66, KEPT);
    keeper_roll(total);
    if (hooks != NULL && hooks->end != NULL) {
        (void)hooks->end(hooks->user, 0);
    }
    return hooks != NULL && hooks->trace != NULL ? hooks->trace(hooks->user, &trace) : ABOARD_OK;
}

static const aboard_tensor_t keeper_inputs[] = {{0, KEPT, ABOARD_UINT8, 0}};
static const aboard_tensor_t keeper_outputs[] = {{Y_AT, KEPT, ABOARD_UINT8, 0}};
static const aboard_tensor_t keeper_states[] = {{0, KEPT, ABOARD_UINT8, 1}, {RUNS_AT, 2, ABOARD_INT16, 1}};

const aboard_model_t toy_keeper = {.name = "keeper",
                                   .hash = {0x4b, 7, 8, 9},
                                   .arena_bytes = 16,
                                   .nodes = 1,
                                   .input_count = 1,
                                   .output_count = 1,
                                   .inputs = keeper_inputs,
                                   .outputs = keeper_outputs,
                                   .run_in = keeper_run,
                                   .state_count = 2,
                                   .states = keeper_states,
                                   .state_bytes = STATE_BYTES,
                                   .reset = keeper_reset,
                                   .unroll = keeper_unroll};
