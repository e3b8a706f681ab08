/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file requests.h
 * Between the files of the server; not for applications.
 */
#ifndef ABOARD_RPC_REQUESTS_H
#define ABOARD_RPC_REQUESTS_H

#include "aboard/config.h"
#include "server.h"

/** Reads little-endian numbers from a message. */
uint32_t aboard_get_u16(const uint8_t *data);
uint32_t aboard_get_u32(const uint8_t *data);

/** Writes a little-endian number. */
void aboard_put_u32(uint8_t *data, uint32_t value);

/** Starts the reply with the first `bytes` bytes of some numbers, each lowest byte first. */
void aboard_reply_words(aboard_server_t *server, const uint32_t *words, size_t bytes);

/** Appends to the reply data that is sent from where it lies; `part` is 0, then 1. */
void aboard_reply_data(aboard_server_t *server, uint8_t part, const void *data, size_t count);

/** Bytes of a text, at most `limit`. The C library's strlen need not exist. */
size_t aboard_text_length(const char *text, size_t limit);

/** Longest payload that both sides take. */
size_t aboard_payload_max(const aboard_server_t *server);

/** Sends an event made of two pieces. */
void aboard_event(aboard_server_t *server, uint8_t type, const uint8_t *head, size_t head_count, const uint8_t *data,
                  size_t data_count);

/** Sends an event without a payload. */
void aboard_signal(aboard_server_t *server, uint8_t type);

/** Works on a request that has the right length; fills the reply. */
aboard_status_t aboard_request(aboard_server_t *server, uint8_t type, const uint8_t *payload, size_t count);

/** Finds a model by its number; NULL when there is none. */
const aboard_model_t *aboard_find_model(const aboard_server_t *server, uint8_t number);

/** Finds the memory of a model's arenas; NULL where it has several and none was given. */
const aboard_memory_t *aboard_memory_of(const aboard_server_t *server, const aboard_model_t *model);

/** True when the inputs of a model are kept in the copy and restored from it. */
bool aboard_uses_copy(const aboard_server_t *server, const aboard_model_t *model);

/** What is run: a model, one node of it, or what the next row of its input allows. */
typedef struct {
    const aboard_model_t *model;
    const aboard_hooks_t *hooks; /**< NULL: none. */
    const uint8_t *row;          /**< The row; NULL where it is none. */
    bool one_node;
    uint16_t node;
} aboard_job_t;

/**
 * Takes bytes that have arrived, at most a few. While a request is being worked on the next one is not: it sets
 * `waiting`.
 *
 * @return True when there were bytes.
 */
bool aboard_take_bytes(aboard_server_t *server);

/** Runs once, and gives the time and, unless `stack` is NULL, the stack used. */
aboard_status_t aboard_run_once(const aboard_server_t *server, const aboard_job_t *job, uint64_t *ticks,
                                uint32_t *stack);

/** Says whether the image can do what the flags of RUN or BEGIN ask for. */
aboard_status_t aboard_check_flags(const aboard_server_t *server, uint8_t flags);

/** Forgets the profile. */
void aboard_clear_profile(const aboard_server_t *server);

/** Fills in the hooks that some flags need; returns them, or NULL where none are needed. */
const aboard_hooks_t *aboard_fill_hooks(aboard_server_t *server, uint8_t flags, aboard_hooks_t *hooks);

struct aboard_server_rows {
    /** Handles BEGIN. */
    aboard_status_t (*begin)(aboard_server_t *server, const uint8_t *payload);
    /** Handles a WRITE to the input of a model that takes it in rows; `count` bytes of data behind the fixed fields. */
    aboard_status_t (*write)(aboard_server_t *server, const uint8_t *payload, size_t count);
};

/** Handles RUN and OP_RUN. */
aboard_status_t aboard_request_run(aboard_server_t *server, const uint8_t *payload);
aboard_status_t aboard_request_op_run(aboard_server_t *server, const uint8_t *payload);

#endif
