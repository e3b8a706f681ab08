/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file state.h
 * The configuration, the counters and the state of the RPC server: types without functions. Every other file of the
 * server works on them; an application includes server.h.
 */
#ifndef ABOARD_RPC_STATE_H
#define ABOARD_RPC_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/model.h"
#include "frame.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aboard_server aboard_server_t;

/** A message, its header taken apart. */
typedef struct {
    const uint8_t *payload; /**< In the frame buffer, until more bytes are received. */
    size_t count;           /**< Bytes of the payload. */
    uint32_t session;       /**< Session of the server, or of a HELLO, which may be any number. */
    uint16_t id;            /**< Number of the request. */
    uint8_t type;           /**< 0x01 to 0x3f. */
    uint8_t code;           /**< 0 in a well-formed request. */
} aboard_message_t;

/** The functions that serve streamed inputs. rows.h owns the only table; requests.c calls it. */
typedef struct {
    /** Handles BEGIN. `payload` has its 6 bytes. */
    aboard_status_t (*begin)(aboard_server_t *server, const uint8_t *payload);
    /** Handles a WRITE to a streamed input. `payload` has the 8 fixed bytes and then `count` bytes of data. */
    aboard_status_t (*write)(aboard_server_t *server, const uint8_t *payload, size_t count);
} aboard_server_rows_t;

/** The type of the function that serves the state of models. states.h declares the only one; requests.c calls it. */
typedef aboard_status_t aboard_server_states_t(aboard_server_t *server, const aboard_message_t *request);

/**
 * The models that a server offers, and its memory. The caller owns all memory, and keeps it for as long as the server
 * is polled. The configuration itself is kept by address; it may be stored in flash. Buffers must not overlap, except
 * that the workspace may be the arena.
 */
typedef struct {
    const aboard_model_t *const *models; /**< The models, in the order of the host's model numbers. */
    uint8_t model_count;                 /**< 1 or more. */
    uint8_t *arena;                      /**< Shared by the models without memory of their own; aligned to
                                              ABOARD_ARENA_ALIGN. */
    size_t arena_bytes;                  /**< At least the largest `arena_bytes` of these models. */
    const aboard_memory_t *const
        *memory;                      /**< For each model its arenas in the model's order, or NULL for the shared
                                           arena. A model with several arenas needs its own. Arenas of different
                                           models may be the same memory. NULL: every model uses the shared arena. */
    uint8_t *input_copy;              /**< Keeps the inputs of models that overwrite them; NULL: no copy. */
    size_t input_copy_bytes;          /**< At least the bytes of all inputs of any one model that is to be copied. */
    const aboard_server_rows_t *rows; /**< &aboard_server_rows if a model streams its input, else NULL. */
    aboard_server_states_t *states;   /**< aboard_server_states if the host may reach the state of models, else
                                           NULL. */
    uint8_t *workspace;               /**< For running single nodes; aligned as the arena. NULL: not supported. */
    size_t workspace_bytes;           /**< At least the largest `op_bytes`. */
    uint64_t *node_ticks;             /**< The profile: ticks of each node. NULL: no profile. */
    uint16_t node_ticks_count;        /**< At least the largest `nodes`. */
    uint8_t *frame;                   /**< Receives messages. Trace events gather strided rows here. */
    uint16_t frame_bytes;             /**< ABOARD_RPC_MIN_FRAME to ABOARD_RPC_MAX_FRAME; 512 suits most boards. */
    uint16_t burst;                   /**< Bytes that the receiver of the port can hold, 16 or more. The host keeps
                                           no more in flight. 0: the line has flow control of its own. */
    void (*yield)(void);              /**< Called before each step of a model with hooks; NULL: no call. */
    void (*mark)(bool begins);        /**< Called right before and right after each run, outside of the time that is
                                           measured: a pin for a power analyser. NULL: no call. The server has the
                                           calls if it is compiled with ABOARD_MARKS=1. */
    bool marks_nodes;                 /**< `mark` is called around each step of a model with hooks instead. */
    uint32_t features;                /**< ABOARD_FEATURE_PROFILE and ABOARD_FEATURE_TRACE, if the models were
                                           compiled with these hooks. */
    const char *board;                /**< Id of the board, such as "arm/mps2_an386"; at most 40 characters. */
    const char *build;                /**< Id of the build; at most 40 characters. */
} aboard_server_config_t;

/** Counters since aboard_server_init, in the order of the reply to STATS. */
typedef struct {
    uint32_t frames;     /**< Complete frames with a correct CRC. */
    uint32_t damaged;    /**< Frames that are not COBS or have a wrong CRC. */
    uint32_t too_long;   /**< Frames longer than the buffer. */
    uint32_t strange;    /**< Correct frames that are not requests: echoes and messages without a full header. */
    uint32_t requests;   /**< Requests executed. */
    uint32_t duplicates; /**< Repeated requests, answered from memory or dropped. */
} aboard_server_stats_t;

/**
 * A server. The caller provides the memory, and reads or writes no field.
 *
 * Fields that count models from 1 use 0 for none.
 */
struct aboard_server {
    const aboard_server_config_t *config;
    /* Bytes first: short instructions of Arm cores reach only a few bytes from the start. */
    uint8_t output_model; /* whose outputs are valid, counted from 1 */
    uint8_t streaming;    /* whose input is being streamed, counted from 1 */
    uint8_t stream_flags; /* of its BEGIN */
    uint8_t input_model;  /* counted from 0 */
    uint8_t event;        /* number of the next event */
    bool started;         /* READY was sent */
    bool busy;            /* a request is being executed */
    bool waiting;         /* reader.data holds a new request, and nothing more is read from the line */
    uint8_t byte_next;    /* first of `bytes` that the reader has not taken */
    uint8_t byte_count;
    /* The last reply, kept for repetitions of its request. */
    uint8_t reply_type;
    uint8_t reply_status;
    uint8_t reply_count;
    uint16_t id;          /* number of the request that is executed or was executed last */
    uint16_t host_max;    /* longest message that the host takes */
    uint16_t trace_first; /* of the run in progress: nodes [trace_first, trace_last) are traced */
    uint16_t trace_last;
    uint32_t trace_sequence; /* number of its next TRACE event */
    uint32_t session;        /* 0: no host has said HELLO */
    uint32_t inputs;         /* bit i: input i of input_model was written and no run has consumed it */
    uint32_t received_bytes; /* from the line since the last request */
    uint32_t credited_bytes; /* received_bytes as the last CREDIT reported them */
    uint32_t streamed;       /* of the streamed input that have arrived */
    uint32_t stream_stack;   /* largest stack of a row, in bytes */
    uint64_t stream_ticks;   /* total of its rows */
    uint64_t node_start;     /* of the node in progress, in ticks */
    aboard_memory_t shared;  /* config->arena */
    aboard_frame_reader_t reader;
    aboard_server_stats_t stats;
    /* The data of the reply themselves are behind reply_data, and must not change before the next request. */
    aboard_span_t reply_data[2];
    uint8_t reply[56];
    uint8_t bytes[32]; /* from the line */
};

#ifdef __cplusplus
}
#endif

#endif
