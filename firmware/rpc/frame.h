/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file frame.h
 * Messages on a line of bytes. A message is followed by its CRC-32 (little-endian), the two are encoded with COBS
 * (Consistent Overhead Byte Stuffing), which leaves no zero byte, between two zero bytes.
 *
 * No function here allocates memory or keeps state.
 */
#ifndef ABOARD_RPC_FRAME_H
#define ABOARD_RPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The effect of a byte on a reader. */
typedef enum {
    ABOARD_FRAME_MORE = 0,    /**< Nothing is complete. */
    ABOARD_FRAME_READY = 1,   /**< A message is complete: `count` bytes at `data`, without the CRC. */
    ABOARD_FRAME_DAMAGED = 2, /**< A frame ended that is not COBS, or whose CRC is wrong. */
    ABOARD_FRAME_TOO_LONG = 3 /**< A frame ended that had more bytes than fit; none was written past the buffer. */
} aboard_frame_result_t;

/** Takes frames apart, a byte at a time. Set up by aboard_frame_reader_init; only `data` and `count` are for reading.
 */
typedef struct {
    uint8_t *data;     /**< The caller's buffer. */
    size_t capacity;   /**< Its size: the longest message with its CRC. */
    size_t count;      /**< Bytes so far. */
    uint8_t left;      /**< Bytes until the next code byte. */
    bool stuffed_zero; /**< A zero byte is between the last block and the next. */
    bool started;      /**< At least one byte of a frame was seen. */
    bool too_long;     /**< The frame does not fit. */
    bool complete;     /**< The last byte completed a message, which the next one clears. */
} aboard_frame_reader_t;

/** Prepares a reader whose messages, with their CRC, have at most `capacity` bytes. `data` stays the caller's. */
void aboard_frame_reader_init(aboard_frame_reader_t *reader, uint8_t *data, size_t capacity);

/**
 * Takes one byte from the line.
 *
 * After ABOARD_FRAME_READY the message stays in the buffer, which the caller may overwrite, until the next byte.
 */
aboard_frame_result_t aboard_frame_reader_take(aboard_frame_reader_t *reader, uint8_t byte);

/** A piece of a message. */
typedef struct {
    const uint8_t *data; /**< May be NULL when count is 0. */
    size_t count;
} aboard_span_t;

/** Sends encoded bytes; has the form of aboard_port_write. */
typedef void (*aboard_frame_sink_t)(const uint8_t *data, size_t count);

/**
 * Sends the message that consists of the spans, one after another. The bytes are read twice (CRC, then encoding), and
 * copied only in pieces of 32 bytes: tensors are sent in place.
 */
void aboard_frame_write(const aboard_span_t *spans, size_t span_count, aboard_frame_sink_t sink);

#ifdef __cplusplus
}
#endif

#endif
