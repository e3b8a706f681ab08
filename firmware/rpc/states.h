/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file states.h
 * Serves the state of models: WRITE and READ of tensors of the kind ABOARD_RPC_STATE, and RESET_STATE.
 *
 * The linker includes this code only if a configuration names it:
 *
 *     .states = aboard_server_states,
 */
#ifndef ABOARD_RPC_STATES_H
#define ABOARD_RPC_STATES_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The function for aboard_server_config_t.states; requests.c calls it.
 *
 * @param request  A RESET_STATE, or a WRITE or READ of a state; its payload has the fixed bytes of its type.
 * @return ABOARD_OK; ABOARD_ERROR_INDEX (no such model or state), ABOARD_ERROR_RANGE (a part that is not inside the
 *         state, or too long for a message), ABOARD_ERROR_STATE (READ or WRITE while the input of the model is
 *         streamed, when rows may have changed the state), ABOARD_ERROR_UNSUPPORTED (RESET_STATE of a model without
 *         state).
 */
aboard_status_t aboard_server_states(aboard_server_t *server, const aboard_message_t *request);

#ifdef __cplusplus
}
#endif

#endif
