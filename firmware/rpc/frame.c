/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include "crc32.h"
#include "messages.h"

/* A block of COBS holds at most this many bytes after its code byte. */
#define BLOCK_BYTES 254u
#define STAGE_BYTES 32u

void aboard_frame_reader_init(aboard_frame_reader_t *reader, uint8_t *data, size_t capacity) {
    reader->data = data;
    reader->capacity = capacity;
    reader->complete = true;
}

static void restart(aboard_frame_reader_t *reader) {
    reader->count = 0;
    reader->left = 0;
    reader->stuffed_zero = false;
    reader->started = false;
    reader->too_long = false;
    reader->complete = false;
}

static void append(aboard_frame_reader_t *reader, uint8_t byte) {
    if (reader->count == reader->capacity) {
        reader->too_long = true;
        return;
    }
    reader->data[reader->count++] = byte;
}

static aboard_frame_result_t end_of_frame(aboard_frame_reader_t *reader) {
    const uint8_t *data = reader->data;
    reader->complete = true;
    if (!reader->started) {
        return ABOARD_FRAME_MORE;
    }
    if (reader->too_long) {
        return ABOARD_FRAME_TOO_LONG;
    }
    if (reader->left != 0 || reader->count < ABOARD_RPC_CRC_BYTES) {
        return ABOARD_FRAME_DAMAGED;
    }
    reader->count -= ABOARD_RPC_CRC_BYTES;
    data += reader->count;
    const uint32_t sent =
        (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
    return sent == aboard_crc32(0, reader->data, reader->count) ? ABOARD_FRAME_READY : ABOARD_FRAME_DAMAGED;
}

aboard_frame_result_t aboard_frame_reader_take(aboard_frame_reader_t *reader, uint8_t byte) {
    if (reader->complete) {
        restart(reader);
    }
    if (byte == 0) {
        return end_of_frame(reader);
    }
    reader->started = true;
    if (reader->left != 0) {
        reader->left--;
        append(reader, byte);
        return ABOARD_FRAME_MORE;
    }
    /* The zero that a block stands for is known to be data, not the end, only when another block follows. */
    if (reader->stuffed_zero) {
        append(reader, 0);
    }
    reader->left = (uint8_t)(byte - 1u);
    reader->stuffed_zero = reader->left != BLOCK_BYTES;
    return ABOARD_FRAME_MORE;
}

/* Reads the spans and then the CRC as one row of bytes. */
typedef struct {
    const aboard_span_t *spans;
    size_t span_count;
    aboard_span_t crc;
    size_t span;
    size_t offset;
} cursor_t;

static const aboard_span_t *current(const cursor_t *cursor) {
    return cursor->span < cursor->span_count ? &cursor->spans[cursor->span] : &cursor->crc;
}

/* Moves over spans that are used up; false when no byte is left. */
static bool settle(cursor_t *cursor) {
    while (cursor->span <= cursor->span_count) {
        if (cursor->offset < current(cursor)->count) {
            return true;
        }
        cursor->span++;
        cursor->offset = 0;
    }
    return false;
}

static uint8_t next(cursor_t *cursor) {
    return current(cursor)->data[cursor->offset++];
}

/* Bytes before the next zero or the end, at most a block's. */
static size_t run_length(cursor_t cursor) {
    size_t length = 0;
    while (length < BLOCK_BYTES && settle(&cursor) && next(&cursor) != 0) {
        length++;
    }
    return length;
}

typedef struct {
    aboard_frame_sink_t sink;
    size_t count;
    uint8_t bytes[STAGE_BYTES];
} stage_t;

static void flush(stage_t *stage) {
    if (stage->count != 0) {
        stage->sink(stage->bytes, stage->count);
        stage->count = 0;
    }
}

static void emit(stage_t *stage, uint8_t byte) {
    stage->bytes[stage->count++] = byte;
    if (stage->count == STAGE_BYTES) {
        flush(stage);
    }
}

void aboard_frame_write(const aboard_span_t *spans, size_t span_count, aboard_frame_sink_t sink) {
    uint32_t sum = 0;
    for (size_t i = 0; i < span_count; ++i) {
        sum = aboard_crc32(sum, spans[i].data, spans[i].count);
    }
    const uint8_t crc[ABOARD_RPC_CRC_BYTES] = {(uint8_t)sum, (uint8_t)(sum >> 8), (uint8_t)(sum >> 16),
                                               (uint8_t)(sum >> 24)};
    cursor_t cursor = {spans, span_count, {crc, sizeof crc}, 0, 0};
    stage_t stage = {sink, 0, {0}};
    emit(&stage, 0);
    bool open = true;
    while (open) {
        const size_t length = run_length(cursor);
        emit(&stage, (uint8_t)(length + 1u));
        for (size_t i = 0; i < length; ++i) {
            (void)settle(&cursor);
            emit(&stage, next(&cursor));
        }
        open = settle(&cursor);
        /* A block that is not full ends before a zero, which it stands for; after it comes a block, if an empty one. */
        if (open && length < BLOCK_BYTES) {
            (void)next(&cursor);
        }
    }
    emit(&stage, 0);
    flush(&stage);
}
