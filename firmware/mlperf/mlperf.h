/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mlperf.h
 * The device's side of MLPerf Tiny's protocol. It serves one model to the benchmark's runner over the port, instead of
 * the RPC server. docs/how-to/mlperf.md describes the protocol;
 * mlperf_config.h documents the configuration.
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
#include "mlperf_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Longest accepted command, without its `%`. */
#define ABOARD_MLPERF_COMMAND_BYTES 80

/** A server. The caller provides the memory; every field is private. */
typedef struct {
    const aboard_mlperf_config_t *config;
    char command[ABOARD_MLPERF_COMMAND_BYTES + 1];
    uint8_t length;
    bool too_long;
    bool started;   /* the greeting was sent */
    bool ran;       /* the output comes from an inference */
    size_t wanted;  /* bytes that `db load` announced; 0 for none */
    size_t arrived; /* number of these bytes that have arrived */
} aboard_mlperf_t;

/**
 * Prepares a server. Nothing is sent before the first poll.
 *
 * @param server  Memory of the caller; need not be cleared.
 * @param config  Configuration. The server stores the address.
 * @return ABOARD_OK; ABOARD_ERROR_NULL (a pointer that is needed is NULL), ABOARD_ERROR_RANGE (db_bytes is not the size
 * of the input), ABOARD_ERROR_UNSUPPORTED (the type of the input or output is not supported),
 *         ABOARD_ERROR_ARENA_TOO_SMALL, ABOARD_ERROR_ARENA_MISALIGNED. The server must not be polled unless it is
 *         ABOARD_OK.
 */
aboard_status_t aboard_mlperf_init(aboard_mlperf_t *server, const aboard_mlperf_config_t *config);

/**
 * Reads the bytes that have arrived and answers their commands. `infer` returns after its last inference.
 *
 * @return True if a byte had arrived. If false, the caller may idle.
 */
bool aboard_mlperf_poll(aboard_mlperf_t *server);

#ifdef __cplusplus
}
#endif

#endif
