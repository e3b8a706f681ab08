/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file model.h
 * What every generated model has, as data: for code that serves any model, such as the RPC server.
 *
 * An application that knows its model includes only the model's own header. All functions are reentrant: a model has no
 * state but its arena, which the caller provides, aligned to ABOARD_ARENA_ALIGN. Two models may share one arena when
 * they do not run at the same time; running one destroys the inputs and outputs of the other. A model that was compiled
 * for several memory regions (-arena=) has an arena in each of them.
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
    ABOARD_FLOAT32 = 6
} aboard_type_t;

/** An input or output of a model. */
typedef struct {
    uint32_t offset; /**< Where it lies in the arena, in bytes. */
    uint32_t bytes;  /**< Its size; elements are stored without gaps, last dimension fastest. */
    uint8_t type;    /**< An aboard_type_t. */
    uint8_t arena;   /**< Number of the arena it lies in; 0 for a model with one. */
} aboard_tensor_t;

/** An arena of a model with several: what it must be. */
typedef struct {
    const char *region; /**< Name of the memory region it is meant for. */
    uint32_t bytes;     /**< Bytes it must have. */
} aboard_arena_t;

/** Memory that a caller provides for an arena. */
typedef struct {
    uint8_t *data; /**< Aligned to ABOARD_ARENA_ALIGN. */
    size_t bytes;  /**< Its size. */
} aboard_memory_t;

/**
 * Rows that a node has just produced.
 *
 * `data` points at the first element of the first row. Element (r, x, c) lies at
 * `data + r * row_stride + x * pixel_stride + c * element_bytes`.
 */
typedef struct {
    const uint8_t *data;
    int32_t row_stride;
    int32_t pixel_stride;
    uint16_t node;         /**< Index of the node in the model's manifest. */
    uint16_t output;       /**< Which of the node's outputs. */
    uint32_t first;        /**< Number of the first row. */
    uint32_t rows;         /**< How many rows. */
    uint16_t cols;         /**< Pixels of a row. */
    uint16_t channels;     /**< Channels of a pixel that survive in the compiled model. */
    uint8_t element_bytes; /**< Bytes of a channel. */
} aboard_trace_t;

/**
 * What the model calls while it runs, when it was compiled with ABOARD_HOOKS. Any function may be NULL.
 * A function that returns anything but ABOARD_OK ends the run with that status.
 */
typedef struct {
    void *user;                                                    /**< Handed to every call. */
    aboard_status_t (*begin)(void *user, uint16_t node);           /**< Before a node's step. */
    aboard_status_t (*end)(void *user, uint16_t node);             /**< After a node's step. */
    aboard_status_t (*trace)(void *user, const aboard_trace_t *t); /**< After a step, with ABOARD_TRACE only. */
} aboard_hooks_t;

/**
 * How a model takes its only input row by row (-input=rows): begin, push every row, then aboard_model_t.run. `memory`
 * has an entry for each arena of the model. The arenas are the model's own from begin until the outputs have been read.
 */
typedef struct {
    uint32_t rows;      /**< Rows of the input. */
    uint32_t row_bytes; /**< Bytes of each. */

    /** Begins a run, whatever the arenas held; checks them as aboard_model_t.run does. */
    aboard_status_t (*begin)(const aboard_memory_t *memory);

    /** Where the next row may be put, so that `push` has nothing to copy; NULL when all have come. */
    void *(*slot)(const aboard_memory_t *memory);

    /** Takes the next row and computes what can be computed by then. ABOARD_ERROR_STATE when all have come. */
    aboard_status_t (*push)(const aboard_memory_t *memory, const void *row, const aboard_hooks_t *hooks);
} aboard_stream_t;

/** A model: its tensors, its needs and its functions. Lies in flash. */
typedef struct {
    const char *name;
    uint8_t hash[32];     /**< SHA-256 of the model file. */
    uint32_t arena_bytes; /**< Bytes the arena must have; of a model with several, all of them together. */
    uint16_t nodes;       /**< Number of nodes. */
    uint8_t input_count;
    uint8_t output_count;
    bool inputs_kept; /**< True when a run leaves the inputs as they were (-input=kept). */
    const aboard_tensor_t *inputs;
    const aboard_tensor_t *outputs;
    uint32_t op_bytes; /**< Largest workspace that run_op needs; 0 without ABOARD_RUN_OP. */

    /**
     * Runs the model. `hooks` may be NULL, and is ignored by a model compiled without ABOARD_HOOKS. NULL for a model
     * with several arenas.
     */
    aboard_status_t (*run)(void *arena, size_t arena_bytes, const aboard_hooks_t *hooks);

    /**
     * Runs one node apart from the plan. `workspace` holds its operands, results and scratch at the offsets that the
     * manifest gives (`nodes[i].op`). NULL without ABOARD_RUN_OP.
     */
    aboard_status_t (*run_op)(uint16_t node, void *workspace, size_t workspace_bytes);

    uint8_t arena_count;          /**< Number of entries of `arenas`; 0 for a model with one arena. */
    const aboard_arena_t *arenas; /**< The arenas of a model with several, fastest first. */

    /** Runs a model with several arenas, as `run` does others. `memory` has an entry for each of `arenas`. */
    aboard_status_t (*run_in)(const aboard_memory_t *memory, const aboard_hooks_t *hooks);

    const aboard_stream_t *stream; /**< How the input comes row by row; NULL for a model that is given it whole. */
} aboard_model_t;

#ifdef __cplusplus
}
#endif

#endif
