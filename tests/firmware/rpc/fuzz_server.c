/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds the server noise, damaged frames and right frames with wild contents, from a seed. With the sanitizers it shows
 * that nothing is read or written outside of memory; by counting it shows that no request runs twice.
 *
 *     fuzz_server SEED ROUNDS
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "rpc/frame.h"
#include "rpc/messages.h"

#define LONGEST 400u

static uint64_t state;
static uint8_t frame[2048];
static size_t frame_count;
static uint8_t taken[1 << 16];
static uint32_t session;
static uint16_t next_id;
static bool ran[65536];
static unsigned long runs;

static uint32_t roll(uint32_t sides) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % sides;
}

static void collect(const uint8_t *data, size_t count) {
    memcpy(frame + frame_count, data, count);
    frame_count += count;
}

static void encode(const uint8_t *message, size_t count) {
    const aboard_span_t span = {message, count};
    frame_count = 0;
    aboard_frame_write(&span, 1, collect);
}

static void put_u32(uint8_t *data, uint32_t value) {
    for (int i = 0; i < 4; ++i) {
        data[i] = (uint8_t)(value >> 8 * i);
    }
}

static void header(uint8_t *message, uint8_t type, uint16_t id) {
    memset(message, 0, ABOARD_RPC_HEADER_BYTES);
    message[0] = type;
    message[2] = (uint8_t)id;
    message[3] = (uint8_t)(id >> 8);
    put_u32(message + 4, session);
}

static void hello(void) {
    uint8_t message[16] = {0};
    session++;
    next_id = 1;
    memset(ran, 0, sizeof ran);
    ran[0] = true;
    header(message, ABOARD_RPC_HELLO, 0);
    memcpy(message + 8, "abrd\1\0", 6);
    message[14] = (uint8_t)(128 + roll(100));
    encode(message, sizeof message);
}

/* Contents that are often right, so that runs happen. */
static void sensible(uint8_t type, uint8_t *payload, size_t *count) {
    if (type == ABOARD_RPC_WRITE) {
        payload[0] = (uint8_t)roll(2);
        payload[1] = 0;
        payload[2] = (uint8_t)roll(2);
        put_u32(payload + 4, 0);
        *count = 8 + 20;
    } else if (type == ABOARD_RPC_RUN) {
        payload[0] = (uint8_t)roll(2);
        payload[1] = (uint8_t)roll(4);
    } else if (type == ABOARD_RPC_OP_RUN) {
        payload[0] = 0;
        payload[1] = 0;
        payload[3] = 0;
    }
}

/* A right frame: any type, any length near the right one, small or wild numbers. Returns the number of the request. */
static uint16_t request(void) {
    static const uint8_t lengths[] = {0, 8, 1, 8, 12, 10, 4, 4, 8, 8, 0, 0, 0, 0};
    uint8_t message[LONGEST];
    const uint8_t type = (uint8_t)(roll(20) == 0 ? roll(256) : 1 + roll(12));
    const uint16_t id = roll(3) == 0 ? (uint16_t)(next_id - 1 - roll(4)) : next_id++;
    size_t count = type < sizeof lengths ? lengths[type] : roll(20);
    if (type == ABOARD_RPC_WRITE || type == ABOARD_RPC_OP_WRITE || roll(10) == 0) {
        count += roll(60);
    }
    header(message, type, id);
    for (size_t i = 0; i < count; ++i) {
        message[8 + i] = (uint8_t)(roll(4) == 0 ? roll(256) : roll(3));
    }
    if (roll(3) != 0) {
        sensible(type, message + 8, &count);
    }
    if (type == ABOARD_RPC_RUN || type == ABOARD_RPC_OP_RUN) {
        put_u32(message + 8 + (type == ABOARD_RPC_RUN ? 2 : 4), 1);
    }
    encode(message, ABOARD_RPC_HEADER_BYTES + count);
    return id;
}

static void noise(void) {
    frame_count = roll(sizeof frame / 2);
    for (size_t i = 0; i < frame_count; ++i) {
        frame[i] = (uint8_t)(roll(30) == 0 ? 0 : roll(256));
    }
}

static void damage(void) {
    for (uint32_t hits = 1 + roll(3); hits != 0; --hits) {
        const size_t at = roll((uint32_t)frame_count);
        if (roll(3) == 0) {
            memmove(frame + at, frame + at + 1, frame_count - at - 1);
            frame_count--;
        } else {
            frame[at] = (uint8_t)(frame[at] ^ (1u << roll(8)));
        }
    }
}

/* Feeds the frame of request `id`; false when it had run before and ran again, or ran more than once. */
static bool feed_and_check(uint16_t id) {
    const uint32_t before = fake_runs() + fake_op_runs();
    (void)fake_feed(frame, frame_count);
    fake_work();
    while (fake_take(taken, sizeof taken) != 0) {
    }
    const uint32_t ran_now = fake_runs() + fake_op_runs() - before;
    const bool allowed = ran_now == 0 || (ran_now == 1 && !ran[id]);
    ran[id] = ran[id] || ran_now != 0;
    runs += ran_now;
    return allowed;
}

static bool play_round(void) {
    const uint32_t kind = roll(20);
    if (kind == 0) {
        hello();
        return feed_and_check(0);
    }
    if (kind == 1) {
        noise();
        return feed_and_check(0);
    }
    const uint16_t id = request();
    if (kind < 5) {
        damage();
    }
    /* Then the same bytes again, as a line that doubles them would send: nothing may run now. */
    return feed_and_check(id) && feed_and_check(id);
}

int main(int count, char **arguments) {
    if (count != 3) {
        return 2;
    }
    state = 0x9e3779b97f4a7c15u ^ strtoull(arguments[1], NULL, 10);
    const unsigned long rounds = strtoul(arguments[2], NULL, 10);
    if (fake_start(FAKE_ALL, (uint16_t)(128 + roll(200)), 0) != 0) {
        return 2;
    }
    hello();
    (void)feed_and_check(0);
    for (unsigned long i = 0; i < rounds; ++i) {
        if (!play_round()) {
            printf("seed %s round %lu: a request ran twice\n", arguments[1], i);
            return 1;
        }
    }
    printf("rounds %lu runs %lu\n", rounds, runs);
    return 0;
}
