/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the firmware's frames, CRC and server against tests/data/rpc_vectors.json, which vectors.h is made of. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "rpc/crc32.h"
#include "rpc/frame.h"

typedef struct {
    const uint8_t *data;
    size_t count;
} bytes_t;

typedef struct {
    const char *name;
    bytes_t data;
    uint32_t crc;
} crc_case_t;

typedef struct {
    const char *name;
    bytes_t message;
    bytes_t frame;
} frame_case_t;

typedef struct {
    const char *name;
    bytes_t bytes;
    int damaged;
    int too_long;
} damaged_case_t;

typedef struct {
    const char *name;
    bytes_t send;
    bytes_t receive;
} dialogue_case_t;

/* With a device that has room for 64 bytes. */
typedef dialogue_case_t credit_case_t;
/* What ends a series of runs, and what is said of damaged frames. */
typedef dialogue_case_t series_case_t;
/* With the model that has state. */
typedef dialogue_case_t state_case_t;

/* Defines crc_cases, frame_cases, damaged_cases, dialogue_cases, credit_cases, series_cases, state_cases and their
 * numbers. */
#include "vectors.h"

#define LONGEST_DAMAGED 300

static uint8_t out[1 << 16];
static size_t out_count;
static int failures;

static void collect(const uint8_t *data, size_t count) {
    memcpy(out + out_count, data, count);
    out_count += count;
}

static void expect(const char *what, const char *name, const uint8_t *got, size_t got_count, bytes_t wanted) {
    if (got_count == wanted.count && (got_count == 0 || memcmp(got, wanted.data, got_count) == 0)) {
        return;
    }
    failures++;
    printf("%s, %s: got", what, name);
    for (size_t i = 0; i < got_count; ++i) {
        printf(" %02x", got[i]);
    }
    printf(", expected");
    for (size_t i = 0; i < wanted.count; ++i) {
        printf(" %02x", wanted.data[i]);
    }
    printf("\n");
}

static void expect_number(const char *what, const char *name, unsigned long got, unsigned long wanted) {
    if (got != wanted) {
        failures++;
        printf("%s, %s: got %lu, expected %lu\n", what, name, got, wanted);
    }
}

static void check_crc(const crc_case_t *test) {
    expect_number("crc", test->name, aboard_crc32(0, test->data.data, test->data.count), test->crc);
    const size_t half = test->data.count / 2;
    const uint32_t first = aboard_crc32(0, test->data.data, half);
    expect_number("crc in two steps", test->name, aboard_crc32(first, test->data.data + half, test->data.count - half),
                  test->crc);
}

/* Encodes the message cut in two at every place, as a reply is made of pieces. */
static void check_encoding(const frame_case_t *test) {
    for (size_t cut = 0; cut <= test->message.count; ++cut) {
        const aboard_span_t spans[3] = {
            {test->message.data, cut}, {NULL, 0}, {test->message.data + cut, test->message.count - cut}};
        out_count = 0;
        aboard_frame_write(spans, 3, collect);
        expect("encode", test->name, out, out_count, test->frame);
    }
}

static void check_decoding(const frame_case_t *test) {
    static uint8_t buffer[1024];
    aboard_frame_reader_t reader;
    size_t ready = 0;
    /* The buffer has exactly the room that the message needs. */
    aboard_frame_reader_init(&reader, buffer, test->message.count + 4);
    for (size_t i = 0; i < test->frame.count; ++i) {
        const aboard_frame_result_t result = aboard_frame_reader_take(&reader, test->frame.data[i]);
        ready += result == ABOARD_FRAME_READY;
        expect_number("decode: result", test->name, result == ABOARD_FRAME_READY || result == ABOARD_FRAME_MORE, 1);
    }
    expect_number("decode: messages", test->name, ready, 1);
    expect("decode", test->name, reader.data, reader.count, test->message);
}

static void check_damaged(const damaged_case_t *test) {
    static uint8_t buffer[LONGEST_DAMAGED];
    aboard_frame_reader_t reader;
    unsigned long counts[4] = {0, 0, 0, 0};
    aboard_frame_reader_init(&reader, buffer, sizeof buffer);
    for (size_t i = 0; i < test->bytes.count; ++i) {
        counts[aboard_frame_reader_take(&reader, test->bytes.data[i])]++;
    }
    expect_number("damaged: ready", test->name, counts[ABOARD_FRAME_READY], 0);
    expect_number("damaged", test->name, counts[ABOARD_FRAME_DAMAGED], (unsigned long)test->damaged);
    expect_number("too long", test->name, counts[ABOARD_FRAME_TOO_LONG], (unsigned long)test->too_long);
}

static void check_dialogue(const dialogue_case_t *test) {
    expect_number("feed", test->name, fake_feed(test->send.data, test->send.count), test->send.count);
    fake_work();
    out_count = fake_take(out, sizeof out);
    expect("dialogue", test->name, out, out_count, test->receive);
}

int main(void) {
    for (size_t i = 0; i < crc_case_count; ++i) {
        check_crc(&crc_cases[i]);
    }
    for (size_t i = 0; i < frame_case_count; ++i) {
        check_encoding(&frame_cases[i]);
        check_decoding(&frame_cases[i]);
    }
    for (size_t i = 0; i < damaged_case_count; ++i) {
        check_damaged(&damaged_cases[i]);
    }
    expect_number("start", "server", (unsigned long)fake_start(FAKE_ALL, 300, 0), 0);
    for (size_t i = 0; i < dialogue_case_count; ++i) {
        check_dialogue(&dialogue_cases[i]);
    }
    expect_number("start", "server with credits", (unsigned long)fake_start(FAKE_ALL, 300, 64), 0);
    for (size_t i = 0; i < credit_case_count; ++i) {
        check_dialogue(&credit_cases[i]);
    }
    expect_number("start", "server", (unsigned long)fake_start(FAKE_ALL, 300, 0), 0);
    for (size_t i = 0; i < series_case_count; ++i) {
        check_dialogue(&series_cases[i]);
    }
    expect_number("start", "server with state", (unsigned long)fake_start_states(FAKE_ALL, 300, 1), 0);
    for (size_t i = 0; i < state_case_count; ++i) {
        check_dialogue(&state_cases[i]);
    }
    printf("crc %zu frames %zu damaged %zu dialogue %zu credits %zu series %zu states %zu failures %d\n",
           crc_case_count, frame_case_count, damaged_case_count, dialogue_case_count, credit_case_count,
           series_case_count, state_case_count, failures);
    return failures != 0;
}
