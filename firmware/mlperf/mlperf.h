/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mlperf.h
 * The device's side of MLPerf Tiny's protocol: serves one model to the benchmark's runner over the port's bytes, in
 * place of the RPC server. docs/mlperf.md says what goes over the wire.
 *
 * The port's counter times the inferences. It needs only aboard/port.h and aboard/model.h.
 *
 *     static uint8_t arena[KWS_ARENA_BYTES] ABOARD_ALIGNED(ABOARD_ARENA_ALIGN);
 *     static uint8_t db[490];
 *     static const aboard_memory_t memory[] = {{arena, sizeof arena}};
 *     static const aboard_mlperf_config_t config = {.model = &kws_model, .memory = memory, .db = db,
 *         .db_bytes = sizeof db, .name = "arm/mps2_an386", .benchmark = "kws01", .output_scale = 1.0f / 256,
 *         .output_zero_point = -128};
 *     static aboard_mlperf_t server;
 *
 *     aboard_port_init();
 *     if (aboard_mlperf_init(&server, &config) == ABOARD_OK) {
 *         for (;;) {
 *             if (!aboard_mlperf_poll(&server)) {
 *                 aboard_port_idle();
 *             }
 *         }
 *     }
 */
#ifndef ABOARD_MLPERF_H
#define ABOARD_MLPERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aboard/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest command that is taken, without its `%`. */
#define ABOARD_MLPERF_COMMAND_BYTES 80

/** What the bytes are that the runner loads. */
typedef enum {
    ABOARD_MLPERF_RAW,    /**< The input as it is. */
    ABOARD_MLPERF_PIXELS, /**< Unsigned pixels for an int8 input: 128 is subtracted. */
    ABOARD_MLPERF_FLOAT32 /**< float32, little-endian, for an int8 input: quantised before the first inference. */
} aboard_mlperf_input_t;

/** What is answered as the result. */
typedef enum {
    ABOARD_MLPERF_VALUES, /**< Every element of the output, dequantised. */
    ABOARD_MLPERF_ERROR   /**< The mean squared error between input and output; with ABOARD_MLPERF_FLOAT32 only. */
} aboard_mlperf_results_t;

/**
 * What a server serves and with which memory. All memory is the caller's and has to outlive the server, the
 * configuration itself too (it may lie in flash). Buffers must not overlap.
 */
typedef struct {
    const aboard_model_t *model;     /**< Its first input and its first output are the benchmark's. */
    const aboard_memory_t *memory;   /**< The arena; of a model with several, its arenas in their order. */
    uint8_t *db;                     /**< Keeps what the runner loads: the input is restored from it. */
    size_t db_bytes;                 /**< Bytes of an input as the runner loads it. */
    uint8_t *quantized;              /**< With ABOARD_MLPERF_FLOAT32: the input in the model's type. Else NULL. */
    aboard_mlperf_input_t input;     /**< What the bytes are. */
    aboard_mlperf_results_t results; /**< What is answered. */
    float input_scale;               /**< Quantisation of the input; with ABOARD_MLPERF_FLOAT32 only. */
    int32_t input_zero_point;        /**< Likewise. */
    float output_scale;              /**< Quantisation of the output, where it is no float32. */
    int32_t output_zero_point;       /**< Likewise. */
    const char *name;                /**< Answer to `name`, such as "arm/mps2_an386". */
    const char *benchmark;           /**< Answer to `profile`: the benchmark's name of the model, such as "kws01". */
} aboard_mlperf_config_t;

/** A server. The caller provides it; every field is the server's own. */
typedef struct {
    const aboard_mlperf_config_t *config;
    char command[ABOARD_MLPERF_COMMAND_BYTES + 1];
    uint8_t length;
    bool too_long;
    bool started;   /* the greeting was sent */
    bool ran;       /* the output is that of an inference */
    size_t wanted;  /* bytes that `db load` announced; 0: none */
    size_t arrived; /* bytes of these that have come */
} aboard_mlperf_t;

/**
 * Prepares a server. Nothing is sent before the first poll.
 *
 * @param server  The caller's; need not be cleared.
 * @param config  Kept by address.
 * @return ABOARD_OK; ABOARD_ERROR_NULL (a pointer that is needed is NULL), ABOARD_ERROR_RANGE (db_bytes is not what the
 *         input takes), ABOARD_ERROR_UNSUPPORTED (a type of input or output that cannot be told so),
 *         ABOARD_ERROR_ARENA_TOO_SMALL, ABOARD_ERROR_ARENA_MISALIGNED. The server must not be polled unless it is
 *         ABOARD_OK.
 */
aboard_status_t aboard_mlperf_init(aboard_mlperf_t *server, const aboard_mlperf_config_t *config);

/**
 * Takes the bytes that have arrived and answers the commands among them. `infer` takes as long as its inferences do.
 *
 * @return True when there was a byte. With false the caller may idle.
 */
bool aboard_mlperf_poll(aboard_mlperf_t *server);

#ifdef __cplusplus
}
#endif

#endif
