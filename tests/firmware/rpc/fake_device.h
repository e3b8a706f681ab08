/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fake_device.h
 * A device in memory: a port over two queues, and the server with the toy models on it.
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/server.h"

/** What the device has. */
enum {
    FAKE_INPUT_COPY = 1,
    FAKE_WORKSPACE = 2,
    FAKE_PROFILE = 4,
    FAKE_TRACE = 8,
    FAKE_WORKSPACE_IN_ARENA = 16,
    FAKE_YIELD = 32,
    FAKE_ALL = 15
};

/** Starts the device anew. Returns the status of aboard_server_init. */
int fake_start(uint32_t has, uint16_t frame_bytes, uint16_t burst);
/**
 * Starts the device anew with the adder in the shared arena and the divided model in memory of its own, of `fast_bytes`
 * and `large_bytes`, the second `shift` bytes off its alignment; 0 bytes: none at all. Returns the status of
 * aboard_server_init.
 */
int fake_start_divided(size_t fast_bytes, size_t large_bytes, size_t shift);
/**
 * Starts the device anew with the adder and the summer, which takes its input in rows; `linked`: 1 gives the server the
 * code for that. Returns the status of aboard_server_init.
 */
int fake_start_rows(uint32_t has, uint16_t frame_bytes, int linked);
/**
 * Starts the device anew with the adder and the keeper, which has state; `linked`: 1 gives the server the code for it.
 * Returns the status of aboard_server_init.
 */
int fake_start_states(uint32_t has, uint16_t frame_bytes, int linked);
/** Bytes that choose a device for fake_start_wild. */
#define FAKE_HEAD 4
/** Starts the device anew as one of many: models, what it has, length of frames, room, how many bytes come at once. */
int fake_start_wild(const uint8_t head[FAKE_HEAD]);
/** What the server was given. */
const aboard_server_config_t *fake_config(void);
/** Ticks that pass at each look at the clock, in turn, at most 64 values; none: ten each time. */
void fake_set_ticks(const uint32_t *values, size_t count);
uint32_t fake_tick_hz(void);
/** Most bytes that the port gives at once; 0: any number. */
void fake_set_grain(size_t bytes);
/** True while nothing has been written beside the memory that the server has. With AddressSanitizer it is always true:
 * that ends the program. */
bool fake_is_intact(void);
/** Puts bytes on the line to the device; returns how many fitted. */
size_t fake_feed(const uint8_t *data, size_t count);
/** Lets the device work until it has taken every byte. */
void fake_work(void);
/** Takes bytes that the device has sent. */
size_t fake_take(uint8_t *data, size_t capacity);
/** Sends a text as the firmware would. */
void fake_log(const char *text);
/** Crashes in the middle of the next run of the adder: a fault record of this kind, and a restart. 0: a plain restart.
 */
void fake_crash_in_next_run(uint32_t kind);
/** Serves the first `count` models only. */
void fake_limit_models(uint8_t count);
/** Becomes another firmware: with this text as build id. */
void fake_set_build(const char *build);
uint32_t fake_runs(void);
uint32_t fake_op_runs(void);
uint32_t fake_resets(void);
uint32_t fake_yields(void);
/** Bytes of a server, for the documentation. */
size_t fake_server_bytes(void);

#endif
