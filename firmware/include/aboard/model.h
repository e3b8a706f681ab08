/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file model.h
 * The descriptor of a generated model, for code that serves any model, such as the RPC server.
 *
 * An application with a fixed model includes only the header of that model. All functions are reentrant: a model has no
 * memory but its arena, which the caller provides, aligned to ABOARD_ARENA_ALIGN. Two models may share one arena if
 * they do not run at the same time; a run of one model destroys the inputs and outputs of the other. A model that was
 * compiled for several memory regions (-arena=) has one arena in each region.
 *
 * What some models keep from one run to the next is their state. It is in a state block of the caller, or at the end of
 * an arena (-state=arena), which then must not be shared. Two state blocks are two instances of a model.
 */
#ifndef ABOARD_MODEL_H
#define ABOARD_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Alignment that every arena must have, in bytes. */
#define ABOARD_ARENA_ALIGN 16

/** Element type of a tensor. */
typedef enum {
    ABOARD_INT8 = 0,
    ABOARD_UINT8 = 1,
    ABOARD_INT16 = 2,
    ABOARD_INT32 = 3,
    ABOARD_INT64 = 4,
    ABOARD_BOOL = 5,
    ABOARD_FLOAT32 = 6,
    ABOARD_UINT32 = 7,
    ABOARD_UINT64 = 8
} aboard_type_t;

/** An input, output or state of a model. */
typedef struct {
    uint32_t offset; /**< Offset in the arena, in bytes. */
    uint32_t bytes;  /**< Size; elements are stored without gaps, last dimension fastest. */
    uint8_t type;    /**< An aboard_type_t. */
    uint8_t arena;   /**< Number of the arena; 0 for a model with one arena. Behind the arenas: the state block. */
} aboard_tensor_t;

/** The requirements on one arena of a model with several arenas. */
typedef struct {
    const char *region; /**< Name of the memory region. */
    uint32_t bytes;     /**< Smallest size of the arena. */
} aboard_arena_t;

/** Memory that a caller provides for an arena or for state. */
typedef struct {
    uint8_t *data; /**< Memory, aligned to ABOARD_ARENA_ALIGN. */
    size_t bytes;  /**< Size of the memory. */
} aboard_memory_t;

/**
 * Rows that a node has just produced.
 *
 * `data` points to the first element of the first row. Element (r, x, c) is stored at
 * `data + r * row_stride + x * pixel_stride + c * element_bytes`.
 */
typedef struct {
    const uint8_t *data;
    int32_t row_stride;
    int32_t pixel_stride;
    uint16_t node;         /**< Index of the node in the model's manifest. */
    uint16_t output;       /**< Index of the output of the node. */
    uint32_t first;        /**< Number of the first row. */
    uint32_t rows;         /**< Number of rows. */
    uint16_t cols;         /**< Pixels per row. */
    uint16_t channels;     /**< Channels per pixel in the compiled model. */
    uint8_t element_bytes; /**< Bytes per channel. */
} aboard_trace_t;

/**
 * Functions that a model compiled with ABOARD_HOOKS calls while it runs. Any function may be NULL. If a function
 * returns a status other than ABOARD_OK, the run ends with that status.
 */
typedef struct {
    void *user;                                                    /**< Argument of every call. */
    aboard_status_t (*begin)(void *user, uint16_t node);           /**< Called before a step. */
    aboard_status_t (*end)(void *user, uint16_t node);             /**< Called after a step. */
    aboard_status_t (*trace)(void *user, const aboard_trace_t *t); /**< Called after a step, with ABOARD_TRACE only. */
} aboard_hooks_t;

/**
 * Functions of a model with streamed input (-input=rows): call begin, push every row, then call aboard_model_t.run.
 * `memory` has an entry for each arena of the model. From begin until the outputs have been read, nothing else may use
 * the arenas.
 */
typedef struct {
    uint32_t rows;      /**< Rows of the input. */
    uint32_t row_bytes; /**< Bytes per row. */

    /** Begins a run; the arenas may have any contents. Checks the arenas as aboard_model_t.run does. */
    aboard_status_t (*begin)(const aboard_memory_t *memory);

    /** Address for the next row, so that `push` need not copy it; NULL after the last row. */
    void *(*slot)(const aboard_memory_t *memory);

    /** Takes the next row and computes every result that is now possible. ABOARD_ERROR_STATE after the last row. */
    aboard_status_t (*push)(const aboard_memory_t *memory, const void *row, const aboard_hooks_t *hooks);
} aboard_stream_t;

/** A model: its tensors, requirements and functions. Stored in flash. */
typedef struct {
    const char *name;
    uint8_t hash[32];     /**< SHA-256 of the model file. */
    uint32_t arena_bytes; /**< Smallest size of the arena; with several arenas, the sum of their sizes. */
    uint16_t nodes;       /**< Number of nodes. */
    uint8_t input_count;
    uint8_t output_count;
    bool inputs_kept; /**< True if a run does not change the inputs (-input=kept). */
    const aboard_tensor_t *inputs;
    const aboard_tensor_t *outputs;
    uint32_t op_bytes; /**< Largest workspace of run_op; 0 without ABOARD_RUN_OP. */

    /**
     * Runs the model. `hooks` may be NULL; a model compiled without ABOARD_HOOKS ignores it. The pointer is NULL for
     * a model with several arenas or a state block: call run_in.
     */
    aboard_status_t (*run)(void *arena, size_t arena_bytes, const aboard_hooks_t *hooks);

    /**
     * Runs a single node. `workspace` holds its operands, results and scratch at the offsets in the manifest
     * (`nodes[i].op`). The pointer is NULL without ABOARD_RUN_OP.
     */
    aboard_status_t (*run_op)(uint16_t node, void *workspace, size_t workspace_bytes);

    uint8_t arena_count;          /**< Number of entries of `arenas`; 0 for a model with one arena. */
    const aboard_arena_t *arenas; /**< The arenas, fastest first; for a model with several arenas. */

    /**
     * As `run`, for a model with several arenas or a state block. `memory` has an entry for each arena (one for
     * `arena_count` 0), then one for the state block if `state_bytes` is not 0.
     */
    aboard_status_t (*run_in)(const aboard_memory_t *memory, const aboard_hooks_t *hooks);

    const aboard_stream_t *stream; /**< Functions for the streamed input; NULL for a model without. */

    uint8_t state_count;           /**< Number of values that a run leaves for the next one. */
    const aboard_tensor_t *states; /**< These values, as they are between two runs; may be read and written then, after
                                        `unroll`. */
    uint32_t state_bytes;          /**< Smallest size of the state block; 0 without one. */

    /**
     * Gives every state its initial value: before the first run, and to begin a new sequence. `memory` as for `run_in`;
     * only the entry that contains the states is read. NULL for a model without state.
     */
    aboard_status_t (*reset)(const aboard_memory_t *memory);

    /**
     * Brings the rows of states in rolling buffers into their order, so that `states` describes them. Call it between
     * two runs before you read or write a state; later runs have the same results as without the call. `memory` as for
     * `reset`. NULL for a model whose states are always in order.
     */
    aboard_status_t (*unroll)(const aboard_memory_t *memory);
} aboard_model_t;

#ifdef __cplusplus
}
#endif

#endif
