/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays wild devices wild frames, from a seed: right ones with boundary values in every field, damaged ones, noise,
 * repetitions, series of runs that something ends. wire.c checks every answer.
 *
 *     fuzz_server SEED DEVICES ROUNDS
 *
 * Device n of seed s is device 0 of seed s + n, so a failure is played again by itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "reference.h"
#include "rpc/messages.h"
#include "wire.h"

#define LONGEST 512u
#define TYPES (ABOARD_RPC_RESET_STATE + 2)

static uint64_t state;
static uint8_t line[8192];
static size_t line_count;

static uint32_t roll(uint32_t sides) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % sides;
}

static uint32_t pick(const uint32_t *values, uint32_t count) {
    return values[roll(count)];
}

static void put(uint8_t *data, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        data[i] = (uint8_t)(value >> 8 * i);
    }
}

/* A number around what bounds it, or around where numbers wrap. */
static uint32_t boundary(uint32_t size) {
    const uint32_t values[] = {0,           1,           size - 1,       size,          size + 1,       0x7fffffffu,
                               0x80000000u, 0xffffffffu, 0u - size,      0u - size - 1, 0u - size + 1,  255,
                               256,         0xffff,      roll(size + 1), roll(300),     (uint32_t)state};
    return pick(values, sizeof values / sizeof values[0]);
}

/* An offset that makes [offset, offset + count) end at, before or behind the end of `size` bytes, or wrap around. */
static uint32_t offset_for(uint32_t size, uint32_t count) {
    const uint32_t values[] = {0,          size - count,   size - count + 1, size - count - 1,
                               0u - count, 0u - count + 1, 0u - count - 1};
    return roll(3) == 0 ? boundary(size) : pick(values, sizeof values / sizeof values[0]);
}

static uint8_t some_model(void) {
    const uint8_t count = fake_config()->model_count;
    return (uint8_t)(roll(12) == 0 ? boundary(count) : roll(count));
}

static const aboard_model_t *model_of(uint8_t number) {
    const aboard_server_config_t *config = fake_config();
    return config->models[number < config->model_count ? number : 0];
}

static uint8_t some_index(uint8_t count) {
    return (uint8_t)(roll(12) == 0 ? boundary(count) : roll(count));
}

/* A length of data: around what there is, as far as a frame holds it. */
static uint32_t some_length(uint32_t size) {
    const uint32_t most = fake_config()->frame_bytes - 20u;
    const uint32_t length = roll(2) == 0 ? size : boundary(size);
    return length > most ? roll(most + 1) : length;
}

static void fill(uint8_t *data, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        data[i] = (uint8_t)roll(256);
    }
}

static size_t some_write(uint8_t *payload) {
    payload[0] = some_model();
    const aboard_model_t *model = model_of(payload[0]);
    payload[1] = (uint8_t)(roll(20) == 0);
    payload[2] = some_index(model->input_count);
    payload[3] = 0;
    const uint32_t size = model->inputs[payload[2] % model->input_count].bytes;
    uint32_t length = some_length(size);
    uint32_t offset = offset_for(size, length);
    if (model->stream != NULL && roll(6) != 0) {
        const uint32_t rest = size - reference_streamed();
        offset = reference_streamed();
        length = some_length(roll(2) == 0 ? rest : model->stream->row_bytes);
    } else if (roll(2) == 0) {
        length = size;
        offset = 0;
    }
    put(payload + 4, offset, 4);
    fill(payload + 8, length);
    return 8 + length;
}

/* Seldom where no model has a state block. */
static bool wants_state(void) {
    return roll(fake_config()->memory != NULL && fake_config()->states != NULL ? 3 : 40) == 0;
}

/* A WRITE or READ of a state; where the model has none, of one that is not. */
static size_t some_state(uint8_t type, uint8_t *payload) {
    payload[0] = some_model();
    const aboard_model_t *model = model_of(payload[0]);
    const uint8_t count = model->state_count == 0 ? 1 : model->state_count;
    payload[1] = ABOARD_RPC_STATE;
    payload[2] = some_index(count);
    payload[3] = 0;
    const uint32_t size = model->state_count == 0 ? 4 : model->states[payload[2] % count].bytes;
    const uint32_t length = type == ABOARD_RPC_WRITE ? some_length(size) : roll(3) == 0 ? boundary(size) : size;
    put(payload + 4, roll(2) == 0 ? 0 : offset_for(size, length), 4);
    if (type == ABOARD_RPC_READ) {
        put(payload + 8, length, 4);
        return 12;
    }
    fill(payload + 8, length);
    return 8 + length;
}

static size_t some_read(uint8_t *payload) {
    payload[0] = some_model();
    const aboard_model_t *model = model_of(payload[0]);
    payload[1] = (uint8_t)(roll(20) == 0 ? 2 + roll(254) : roll(2));
    const uint8_t count = payload[1] == 0 ? model->input_count : model->output_count;
    payload[2] = some_index(count);
    payload[3] = 0;
    const uint32_t size = (payload[1] == 0 ? model->inputs : model->outputs)[payload[2] % count].bytes;
    const uint32_t length = roll(3) == 0 ? boundary(size) : roll(size + 1);
    put(payload + 4, offset_for(size, length), 4);
    put(payload + 8, length, 4);
    return 12;
}

static size_t some_run(uint8_t *payload) {
    payload[0] = some_model();
    payload[1] = (uint8_t)(roll(2) == 0 ? 0 : roll(20) == 0 ? roll(256) : roll(4));
    put(payload + 2, roll(3) != 0 ? 1 : roll(2) == 0 ? roll(6) : boundary(50), 4);
    put(payload + 6, boundary(3), 2);
    put(payload + 8, boundary(3), 2);
    return 10;
}

static size_t some_begin(uint8_t *payload) {
    payload[0] = roll(3) == 0 ? some_model() : 1;
    payload[1] = (uint8_t)(roll(2) == 0 ? 0 : roll(20) == 0 ? roll(256) : roll(4));
    put(payload + 2, boundary(1), 2);
    put(payload + 4, boundary(1), 2);
    return 6;
}

static size_t some_workspace(uint8_t type, uint8_t *payload) {
    const uint32_t size = (uint32_t)fake_config()->workspace_bytes;
    const uint32_t length = type == ABOARD_RPC_OP_WRITE ? some_length(size) : boundary(size);
    put(payload, offset_for(size, length), 4);
    if (type == ABOARD_RPC_OP_READ) {
        put(payload + 4, length, 4);
        return 8;
    }
    fill(payload + 4, length);
    return 4 + length;
}

static size_t some_payload(uint8_t type, uint8_t *payload) {
    switch (type) {
    case ABOARD_RPC_HELLO:
        memcpy(payload, "abrd\1\0", 6);
        payload[roll(5)] ^= (uint8_t)(roll(8) == 0);
        put(payload + 6, roll(2) == 0 ? 128 + roll(300) : boundary(128), 2);
        return 8;
    case ABOARD_RPC_MODEL:
    case ABOARD_RPC_RESET_STATE:
        payload[0] = some_model();
        return 1;
    case ABOARD_RPC_WRITE:
        return wants_state() ? some_state(type, payload) : some_write(payload);
    case ABOARD_RPC_READ:
        return wants_state() ? some_state(type, payload) : some_read(payload);
    case ABOARD_RPC_RUN:
        return some_run(payload);
    case ABOARD_RPC_PROFILE:
        put(payload, boundary(fake_config()->node_ticks_count), 2);
        put(payload + 2, boundary(fake_config()->node_ticks_count), 2);
        return 4;
    case ABOARD_RPC_OP_WRITE:
    case ABOARD_RPC_OP_READ:
        return some_workspace(type, payload);
    case ABOARD_RPC_OP_RUN:
        payload[0] = some_model();
        payload[1] = 0;
        put(payload + 2, roll(3) == 0 ? boundary(model_of(payload[0])->nodes) : roll(model_of(payload[0])->nodes), 2);
        put(payload + 4, roll(3) != 0 ? 1 : boundary(50), 4);
        return 8;
    case ABOARD_RPC_BEGIN:
        return some_begin(payload);
    default:
        return 0;
    }
}

static uint8_t some_type(void) {
    static const uint8_t frequent[] = {ABOARD_RPC_WRITE, ABOARD_RPC_READ, ABOARD_RPC_RUN, ABOARD_RPC_BEGIN,
                                       ABOARD_RPC_OP_RUN};
    /* Now and then a type that is none; seldom a restart. */
    const uint8_t type = (uint8_t)(roll(30) == 0 ? roll(256) : roll(TYPES));
    if (roll(2) == 0) {
        return frequent[roll(sizeof frequent)];
    }
    return type == ABOARD_RPC_RESET && roll(8) != 0 ? (uint8_t)ABOARD_RPC_STATS : type;
}

static void append(const uint8_t *message, size_t count) {
    line_count += wire_encode(line + line_count, message, count);
}

static void append_request(uint8_t type) {
    static const uint32_t steps[] = {0, 2, 0xffff, 0x7fff, 0x8000, 0x8001};
    uint8_t message[8 + LONGEST] = {type};
    const bool is_hello = type == ABOARD_RPC_HELLO;
    const uint32_t session = is_hello ? reference_session() + (roll(3) != 0) : reference_session();
    const uint16_t id = (uint16_t)(reference_id() + (roll(6) == 0 ? pick(steps, 6) : 1));
    size_t count = some_payload(type, message + 8);
    if (roll(20) == 0) {
        /* Of a length that it should not have. */
        count = roll(4) == 0 ? roll(300) : count + roll(3) - (count != 0);
    }
    message[1] = (uint8_t)(roll(40) == 0 ? roll(256) : 0);
    put(message + 2, is_hello ? 0u : id, 2);
    put(message + 4, roll(30) == 0 ? (uint32_t)state : session, 4);
    append(message, roll(60) == 0 ? roll(9) : 8 + (count > LONGEST ? LONGEST : count));
}

static void append_noise(void) {
    const size_t count = 4 + roll(600);
    for (size_t i = 0; i < count; ++i) {
        line[line_count++] = (uint8_t)(roll(30) == 0 ? 0 : roll(256));
    }
}

static void damage(void) {
    for (uint32_t hits = 1 + roll(3); hits != 0; --hits) {
        const size_t at = roll((uint32_t)line_count);
        if (roll(3) == 0) {
            memmove(line + at, line + at + 1, line_count - at - 1);
            line_count--;
        } else {
            line[at] = (uint8_t)(line[at] ^ (1u << roll(8)));
        }
    }
}

static const char *play_round(void) {
    const uint32_t kind = roll(24);
    line_count = 0;
    if (kind == 0) {
        append_noise();
    } else {
        append_request(reference_session() == 0 ? (uint8_t)ABOARD_RPC_HELLO : some_type());
    }
    if (kind == 1) {
        /* What comes while it works, or at once behind. */
        append_request(some_type());
    } else if (kind < 5) {
        damage();
    } else if (kind < 8 && line_count < 1024) {
        /* The same bytes again, as a line that doubles them would send. */
        memcpy(line + line_count, line, line_count);
        line_count *= 2;
    }
    return wire_play(line, line_count);
}

static const char *play_device(uint64_t seed, unsigned long rounds, unsigned long *round) {
    uint8_t head[FAKE_HEAD];
    state = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 10; ++i) {
        (void)roll(2);
    }
    for (int i = 0; i < FAKE_HEAD; ++i) {
        head[i] = (uint8_t)roll(256);
    }
    head[1] |= (uint8_t)(roll(4) != 0 ? FAKE_ALL : 0);
    const char *wrong = wire_start(head) ? NULL : "the device does not start";
    for (*round = 0; wrong == NULL && *round < rounds; ++*round) {
        wrong = play_round();
    }
    return wrong;
}

int main(int count, char **arguments) {
    if (count != 4) {
        return 2;
    }
    const uint64_t seed = strtoull(arguments[1], NULL, 10);
    const unsigned long devices = strtoul(arguments[2], NULL, 10);
    const unsigned long rounds = strtoul(arguments[3], NULL, 10);
    for (unsigned long device = 0; device < devices; ++device) {
        unsigned long round;
        /* Where a sanitizer ends the program, the last line says which device it was. */
        if (device % 64 == 0) {
            printf("seed %llu\n", (unsigned long long)(seed + device));
            fflush(stdout);
        }
        const char *const wrong = play_device(seed + device, rounds, &round);
        if (wrong != NULL) {
            printf("failure: seed %llu round %lu: %s\n", (unsigned long long)(seed + device), round, wrong);
            return 1;
        }
    }
    printf("frames %lu damaged %lu accepted %lu refused %lu runs %lu\n", wire_counts.frames, wire_counts.damaged,
           wire_counts.accepted, wire_counts.refused, wire_counts.runs);
    return 0;
}
