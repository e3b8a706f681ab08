/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file server.h
 * The device's side of the RPC: serves any number of models to a host over the port's bytes. docs/protocol.md says what
 * goes over the wire.
 *
 * The server reaches the tensors of its models, the workspace, counters and the fault record, and nothing else: no
 * request names an address. It needs only aboard/port.h and aboard/model.h.
 *
 *     static uint8_t arena[MODEL_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
 *     static uint8_t frame[512];
 *     static const aboard_model_t *const models[] = {&kws_model};
 *     static const aboard_server_config_t config = {.models = models, .model_count = 1, .arena = arena,
 *         .arena_bytes = sizeof arena, .frame = frame, .frame_bytes = sizeof frame, .board = "arm/mps2_an386",
 *         .build = BUILD_ID};
 *     static aboard_server_t server;
 *
 *     aboard_port_init();
 *     if (aboard_server_init(&server, &config) == ABOARD_OK) {
 *         for (;;) {
 *             if (!aboard_server_poll(&server)) {
 *                 aboard_port_idle();
 *             }
 *         }
 *     }
 */
#ifndef ABOARD_RPC_SERVER_H
#define ABOARD_RPC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/model.h"
#include "frame.h"
#include "messages.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a server takes inputs row by row: code that is linked only where a configuration names it. */
typedef struct aboard_server_rows aboard_server_rows_t;
extern const aboard_server_rows_t aboard_server_rows;

/**
 * What a server serves and with which memory. All memory is the caller's and has to outlive the server, the
 * configuration itself too (it may lie in flash). Buffers must not overlap, but the workspace may be the arena.
 */
typedef struct {
    const aboard_model_t *const *models;  /**< The models, by the number the host uses. */
    uint8_t model_count;                  /**< 1 or more. */
    uint8_t *arena;                       /**< Shared by the models that have no memory of their own; aligned to
                                               ABOARD_ARENA_ALIGN. */
    size_t arena_bytes;                   /**< At least the largest `arena_bytes` of these models. */
    const aboard_memory_t *const *memory; /**< For each model NULL, or the memory of its arenas, in their order: needed
                                               by models with several. Arenas of different models may be the same
                                               memory. NULL: no model has any. */
    uint8_t *input_copy;                  /**< Keeps the inputs of models that consume them; NULL: none. */
    size_t input_copy_bytes;              /**< Sum of the inputs of the model with the largest inputs. */
    const aboard_server_rows_t *rows;     /**< &aboard_server_rows where a model has aboard_model_t.feed; else NULL. */
    uint8_t *workspace;                   /**< For single nodes, aligned as the arena; NULL: none. */
    size_t workspace_bytes;               /**< At least the largest `op_bytes`. */
    uint64_t *node_ticks;                 /**< The profile; NULL: none. */
    uint16_t node_ticks_count;            /**< At least the largest `nodes`. */
    uint8_t *frame;                       /**< Receives messages; also gathers strided rows of taps. */
    uint16_t frame_bytes;                 /**< From ABOARD_RPC_MIN_FRAME to ABOARD_RPC_MAX_FRAME; 512 suits most. */
    uint16_t burst;                       /**< Room for bytes that have arrived and are not taken yet, 16 or more; the
                                               host never has more on their way. 0: the line holds the host back. */
    void (*yield)(void);                  /**< Called before every step of models with hooks; NULL: not. */
    uint32_t features;                    /**< ABOARD_FEATURE_PROFILE and _TAPS, if the models were compiled for it. */
    const char *board;                    /**< Id of the board, such as "arm/mps2_an386"; at most 40 characters. */
    const char *build;                    /**< Id of the build; at most 40 characters. */
} aboard_server_config_t;

/** Counters since aboard_server_init, in the order of the reply to STATS. */
typedef struct {
    uint32_t frames;     /**< Whole frames with a right CRC. */
    uint32_t damaged;    /**< Frames that were not COBS or had a wrong CRC. */
    uint32_t too_long;   /**< Frames longer than the buffer. */
    uint32_t strange;    /**< Right frames that are no request: echoes, too short ones. */
    uint32_t requests;   /**< Requests worked on. */
    uint32_t duplicates; /**< Requests seen again, which were answered from memory or dropped. */
} aboard_server_stats_t;

/** A server. The caller provides it; every field is the server's own. */
typedef struct {
    const aboard_server_config_t *config;
    aboard_frame_reader_t reader;
    aboard_memory_t shared; /* the arena */
    aboard_server_stats_t stats;
    uint32_t session;  /* 0: no host has said hello */
    uint32_t inputs;   /* bit i: input i of input_model has been written since it was last consumed */
    uint16_t id;       /* number of the request that is or was last worked on */
    uint16_t host_max; /* longest message the host takes */
    uint32_t taken;    /* bytes from the line since the last request */
    uint32_t told;     /* of these, as many as the last CREDIT said */
    uint8_t input_model;
    uint8_t output_model; /* whose outputs lie in the arena, counted from 1; 0: nobody's */
    uint8_t event;
    uint8_t feeding;     /* whose input comes in rows, counted from 1; 0: nobody's */
    uint8_t feed_flags;  /* of its BEGIN */
    uint32_t fed;        /* bytes of its input that have come */
    uint32_t feed_stack; /* most stack that a row has taken */
    uint64_t feed_ticks; /* of all its rows */
    bool started;        /* READY was sent */
    bool busy;           /* a request is being worked on */
    bool waiting;        /* the frame buffer holds the next one, which waits until that is done */
    uint8_t byte_next;   /* of `bytes`, the first that has not been looked at */
    uint8_t byte_count;
    uint8_t bytes[32]; /* from the line */
    /* The last reply, which a repeated request is answered with. Data is sent from where it lies, so it must not
     * change until the next request does. */
    uint8_t reply_type;
    uint8_t reply_status;
    uint8_t reply_count;
    uint8_t reply[56];
    aboard_span_t reply_data[2];
    /* The run in progress, for the hooks. */
    uint64_t node_started;
    uint32_t tap_sequence;
    uint16_t tap_first;
    uint16_t tap_last;
} aboard_server_t;

/**
 * Prepares a server. Nothing is sent before the first poll.
 *
 * @param server  The caller's; need not be cleared.
 * @param config  Kept by address.
 * @return ABOARD_OK; ABOARD_ERROR_NULL (a pointer that is needed is NULL), ABOARD_ERROR_RANGE (frame_bytes, no model or
 *         a text too long), ABOARD_ERROR_ARENA_TOO_SMALL (for one of the models), ABOARD_ERROR_ARENA_MISALIGNED (an
 *         arena or the workspace). The server must not be polled unless it is ABOARD_OK.
 */
aboard_status_t aboard_server_init(aboard_server_t *server, const aboard_server_config_t *config);

/**
 * Takes bytes that have arrived and answers the requests among them. A run takes as long as the model does; a series of
 * runs ends after the one during which the next request has arrived.
 *
 * @return True when there was a byte. With false the caller may idle.
 */
bool aboard_server_poll(aboard_server_t *server);

/**
 * Sends a text to the host as LOG events, as many as it needs. May be called between polls, or from a hook while a
 * model runs; not from an interrupt.
 *
 * @param text  UTF-8, ends with a zero byte, which is not sent.
 */
void aboard_server_log(aboard_server_t *server, const char *text);

#ifdef __cplusplus
}
#endif

#endif
