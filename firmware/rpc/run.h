/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file run.h
 * Runs models and single nodes: measures time and stack, fills the profile, sends trace events. Handles RUN and OP_RUN.
 */
#ifndef ABOARD_RPC_RUN_H
#define ABOARD_RPC_RUN_H

#include "state.h"

/** The work of one timed run: a model, one of its nodes, or one row of its streamed input. */
typedef struct {
    const aboard_model_t *model;
    const aboard_hooks_t *hooks; /**< NULL: none. */
    const uint8_t *row;          /**< The row to push; NULL if this is no row. */
    bool one_node;               /**< Run `node` alone, in the workspace. */
    uint16_t node;
} aboard_job_t;

/**
 * Checks the flags of RUN or BEGIN.
 *
 * @param flags  From the host: any.
 * @return ABOARD_OK; ABOARD_ERROR_RANGE (unknown flag), ABOARD_ERROR_UNSUPPORTED (the image lacks the feature).
 */
aboard_status_t aboard_check_flags(const aboard_server_t *server, uint8_t flags);

/** Sets the ticks of all nodes to 0. The configuration must have `node_ticks`. */
void aboard_clear_profile(const aboard_server_t *server);

/**
 * Fills in the hooks that a run with these flags needs.
 *
 * @param flags  Have passed aboard_check_flags.
 * @param hooks  The caller's; must outlive the run.
 * @return `hooks`, or NULL if the run needs no hooks.
 */
const aboard_hooks_t *aboard_fill_hooks(aboard_server_t *server, uint8_t flags, aboard_hooks_t *hooks);

/**
 * Runs a job once.
 *
 * @param ticks  Receives the time of the run, whatever its status.
 * @param stack  Receives the bytes of stack that the run has used; NULL: not measured, which saves time.
 * @return The status of the model.
 */
aboard_status_t aboard_run_once(const aboard_server_t *server, const aboard_job_t *job, uint64_t *ticks,
                                uint32_t *stack);

/**
 * Handles RUN, a series of one or more runs. The series ends early when the next request arrives, which overwrites
 * `payload`.
 *
 * @param payload  10 bytes.
 * @return ABOARD_OK; ABOARD_ERROR_INDEX (no such model), ABOARD_ERROR_RANGE (no run, or a trace of several),
 *         ABOARD_ERROR_UNSUPPORTED (a feature is missing, or a series would overwrite its inputs), ABOARD_ERROR_STATE
 *         (inputs are missing), or the status of the model.
 */
aboard_status_t aboard_request_run(aboard_server_t *server, const uint8_t *payload);

/**
 * Handles OP_RUN, a series as for aboard_request_run. The configuration must have a workspace.
 *
 * @param payload  8 bytes.
 * @return ABOARD_OK; ABOARD_ERROR_INDEX (no such model or node), ABOARD_ERROR_RANGE (no run), ABOARD_ERROR_UNSUPPORTED
 *         (the model was compiled without ABOARD_RUN_OP), or the status of the node.
 */
aboard_status_t aboard_request_op_run(aboard_server_t *server, const uint8_t *payload);

#endif
