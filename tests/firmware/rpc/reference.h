/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file reference.h
 * What a server has to answer, written from docs/reference/protocol.md: the fuzzers compare the real one with it. It
 * knows the configuration and the toy models, keeps its own account of sessions, inputs, outputs and rows, and reckons
 * in 64 bits, so that a check which wraps around in the server shows.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/server.h"

/** Most bytes of a copy of inputs, or of a workspace. */
#define REFERENCE_MEMORY 192

/** A reply that is due. */
typedef struct {
    uint8_t type; /**< Of the request. */
    uint8_t status;
    uint16_t id;
    uint32_t session;
    uint32_t runs; /**< RUN and OP_RUN: how many were asked for. */
    size_t count;  /**< Bytes of the payload. */
    bool is_known; /**< What they are. */
    uint8_t data[REFERENCE_MEMORY];
    bool is_optional;   /**< It need not come: the request may be answered with an event instead. */
    bool is_remembered; /**< It is what a repetition of the request is answered with. */
    bool is_repeated;   /**< It has to be the bytes of the one before it. */
} reference_reply_t;

/** Starts anew, with the configuration that the server has. */
void reference_start(const aboard_server_config_t *config);

/** Takes a whole message with a right CRC. True when a reply is due, which is filled in. */
bool reference_take(const uint8_t *message, size_t count, reference_reply_t *reply);

/** Says that RESET was answered: the device has restarted. */
bool reference_has_restarted(void);

/** The session that the server knows; 0: none. The number of the last request in it. */
uint32_t reference_session(void);
uint16_t reference_id(void);
/** Bytes of rows that have come. */
uint32_t reference_streamed(void);

#endif
