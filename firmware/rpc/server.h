/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file server.h
 * The device's side of the RPC: offers any number of models to a host, over the bytes of the port.
 * docs/reference/protocol.md specifies the messages; state.h documents the configuration.
 *
 * Requests reach the tensors of the models, the workspace, the counters and the fault record. No request contains an
 * address. The server needs only aboard/port.h and aboard/model.h. It allocates nothing and calls nothing recursively.
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
 *
 * The files of the server form layers; each includes only files to its left:
 *
 *     messages <- crc32 <- frame <- state <- reply <- receive <- models <- regions <- run <- requests <-
 *     states <- rows <- server
 */
#ifndef ABOARD_RPC_SERVER_H
#define ABOARD_RPC_SERVER_H

#include "messages.h"
#include "rows.h"
#include "state.h"
#include "states.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Prepares a server. It sends nothing before the first poll.
 *
 * @param server  The caller's; need not be cleared.
 * @param config  Kept by address.
 * @return ABOARD_OK; ABOARD_ERROR_NULL (a required pointer is NULL), ABOARD_ERROR_RANGE (frame_bytes or burst out of
 *         range, no model, or a text too long), ABOARD_ERROR_ARENA_TOO_SMALL (for one of the models),
 *         ABOARD_ERROR_ARENA_MISALIGNED (an arena or the workspace). Do not poll the server unless it is ABOARD_OK.
 */
aboard_status_t aboard_server_init(aboard_server_t *server, const aboard_server_config_t *config);

/**
 * Takes bytes that have arrived, and executes the requests among them. A run takes as long as the model does; a series
 * of runs ends after the run during which the next request has arrived.
 *
 * @return True if there were bytes. After false the caller may idle.
 */
bool aboard_server_poll(aboard_server_t *server);

/**
 * Sends a text to the host, in as many LOG events as it needs. May be called between polls, or from a hook while a
 * model runs; not from an interrupt.
 *
 * @param text  UTF-8, ends with a zero byte, which is not sent.
 */
void aboard_server_log(aboard_server_t *server, const char *text);

#ifdef __cplusplus
}
#endif

#endif
