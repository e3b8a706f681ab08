/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file models.h
 * Finds the models of a configuration and the memory in which each of them runs.
 *
 * Unless a function says otherwise, `model` is a model of the configuration and the server has passed
 * aboard_server_init.
 */
#ifndef ABOARD_RPC_MODELS_H
#define ABOARD_RPC_MODELS_H

#include "aboard/config.h"
#include "state.h"

/** Finds a model by the host's number, which may be any. Returns NULL if there is no such model. */
const aboard_model_t *aboard_find_model(const aboard_server_t *server, uint8_t number);

/**
 * Finds the memory of a model's arenas and state.
 *
 * @return An entry for each arena (one for a model with `arena_count` 0), then one for the state block if the model has
 *         one. NULL only before aboard_server_init has checked the configuration: the model needs more than the shared
 *         arena and no memory was provided.
 */
const aboard_memory_t *aboard_memory_of(const aboard_server_t *server, const aboard_model_t *model);

/**
 * Checks the arenas that the configuration provides for a model. Called by aboard_server_init, which then resets the
 * state of the model; that checks the memory of the state.
 *
 * @return ABOARD_OK; ABOARD_ERROR_NULL (no memory, or `rows` missing for a streamed input),
 *         ABOARD_ERROR_ARENA_MISALIGNED, ABOARD_ERROR_ARENA_TOO_SMALL.
 */
aboard_status_t aboard_check_memory(const aboard_server_t *server, const aboard_model_t *model);

/** Returns true if `memory` is aligned to ABOARD_ARENA_ALIGN; NULL is. */
ABOARD_INLINE bool aboard_is_aligned(const void *memory) {
    return ((uintptr_t)memory & (ABOARD_ARENA_ALIGN - 1u)) == 0;
}

/** Returns true if WRITE puts the model's inputs into the input copy, from which every run restores them. */
bool aboard_uses_copy(const aboard_server_t *server, const aboard_model_t *model);

#endif
