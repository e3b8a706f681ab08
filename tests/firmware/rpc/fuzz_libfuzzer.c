/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server under libFuzzer: an input is FAKE_HEAD bytes that choose a device, and then what is on the line. The
 * mutator takes frames apart, changes a message and makes a right frame of it again, so that inputs get past CRC and
 * COBS. Sessions and numbers are set as they have to be, most of the time: no mutation would find them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "rpc/frame.h"
#include "rpc/messages.h"
#include "wire.h"

#define MOST_MESSAGES 64
#define LONGEST 400
#define SESSION 0x12345678u

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

typedef struct {
    size_t count;
    uint8_t data[LONGEST];
} message_t;

static message_t messages[MOST_MESSAGES];
static size_t message_count;
static uint64_t state;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < FAKE_HEAD || !wire_start(data)) {
        return 0;
    }
    const char *const wrong = wire_play(data + FAKE_HEAD, size - FAKE_HEAD);
    if (wrong != NULL) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    return 0;
}

static uint32_t roll(uint32_t sides) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % sides;
}

static void put(uint8_t *data, uint32_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        data[i] = (uint8_t)(value >> 8 * i);
    }
}

static void take_apart(const uint8_t *bytes, size_t count) {
    static uint8_t buffer[LONGEST];
    aboard_frame_reader_t reader;
    aboard_frame_reader_init(&reader, buffer, sizeof buffer);
    message_count = 0;
    for (size_t i = 0; i < count && message_count < MOST_MESSAGES; ++i) {
        if (aboard_frame_reader_take(&reader, bytes[i]) == ABOARD_FRAME_READY) {
            messages[message_count].count = reader.count;
            memcpy(messages[message_count++].data, buffer, reader.count);
        }
    }
}

static size_t put_together(uint8_t *bytes, size_t most) {
    static uint8_t frame[2 * LONGEST + 16];
    size_t total = 0;
    for (size_t i = 0; i < message_count; ++i) {
        const size_t count = wire_encode(frame, messages[i].data, messages[i].count);
        if (total + count > most) {
            break;
        }
        memcpy(bytes + total, frame, count);
        total += count;
    }
    return total;
}

/* Gives every request the session and the next number, but leaves some as they are. */
static void number(void) {
    uint16_t id = 0;
    for (size_t i = 0; i < message_count; ++i) {
        message_t *const message = &messages[i];
        if (message->count < ABOARD_RPC_HEADER_BYTES || roll(40) == 0) {
            continue;
        }
        id = (uint16_t)(message->data[0] == ABOARD_RPC_HELLO ? 0 : id + 1);
        put(message->data + 2, id, 2);
        put(message->data + 4, SESSION, 4);
    }
}

static void change_field(message_t *message) {
    static const uint32_t values[] = {0,          1,          2,           8,           20,          23,    24,
                                      25,         96,         128,         255,         256,         3,     0x7fffffff,
                                      0x80000000, 0xffffffff, 0xfffffff8u, 0xffffffe8u, 0xffffffe7u, 0xffff};
    const size_t at = ABOARD_RPC_HEADER_BYTES + roll(12);
    const size_t bytes = (size_t)1 << roll(3);
    if (at + bytes <= message->count) {
        put(message->data + at, values[roll(sizeof values / sizeof values[0])], bytes);
    }
}

static void change_type(message_t *message) {
    /* Payloads of these lengths are right; a type above is none. */
    static const uint8_t lengths[] = {0, 8, 1, 28, 12, 10, 4, 20, 8, 8, 0, 0, 0, 0, 6, 0, 1, 0};
    const uint32_t type = roll(sizeof lengths);
    const size_t count = ABOARD_RPC_HEADER_BYTES + (size_t)lengths[type];
    if (count > message->count) {
        memset(message->data + message->count, 0, count - message->count);
    }
    message->data[0] = (uint8_t)type;
    message->count = count;
}

static void copy_message(size_t from) {
    if (message_count < MOST_MESSAGES) {
        const size_t to = roll((uint32_t)message_count + 1);
        const message_t copied = messages[from];
        memmove(&messages[to + 1], &messages[to], (message_count - to) * sizeof messages[0]);
        messages[to] = copied;
        message_count++;
    }
}

static void remove_message(size_t at) {
    message_count--;
    memmove(&messages[at], &messages[at + 1], (message_count - at) * sizeof messages[0]);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    state = seed;
    if (size <= FAKE_HEAD || roll(8) == 0) {
        return LLVMFuzzerMutate(data, size, most);
    }
    take_apart(data + FAKE_HEAD, size - FAKE_HEAD);
    if (message_count == 0) {
        return LLVMFuzzerMutate(data, size, most);
    }
    for (uint32_t changes = 1 + roll(4); changes != 0; --changes) {
        message_t *const message = &messages[roll((uint32_t)message_count)];
        const uint32_t kind = roll(10);
        if (kind < 4) {
            change_field(message);
        } else if (kind < 6) {
            change_type(message);
        } else if (kind < 8) {
            copy_message((size_t)(message - messages));
        } else if (kind == 8 && message_count > 1) {
            remove_message((size_t)(message - messages));
        } else if (message->count > ABOARD_RPC_HEADER_BYTES) {
            const size_t rest = message->count - ABOARD_RPC_HEADER_BYTES;
            message->count =
                ABOARD_RPC_HEADER_BYTES + LLVMFuzzerMutate(message->data + ABOARD_RPC_HEADER_BYTES, rest,
                                                           LONGEST - ABOARD_RPC_CRC_BYTES - ABOARD_RPC_HEADER_BYTES);
        }
    }
    number();
    data[roll(FAKE_HEAD)] = roll(6) == 0 ? (uint8_t)roll(256) : data[roll(FAKE_HEAD)];
    const size_t count = FAKE_HEAD + put_together(data + FAKE_HEAD, most - FAKE_HEAD);
    /* A repetition as the line would make it, or a frame that has lost something. */
    return roll(10) == 0 ? LLVMFuzzerMutate(data, count, most) : count;
}
