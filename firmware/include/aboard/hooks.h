/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file hooks.h
 * The hook calls of generated code before and after every step, and the build options that enable them.
 *
 * - ABOARD_HOOKS: 1 calls aboard_hooks_t.begin and .end around every node (profiling).
 * - ABOARD_TRACE: 1 passes the rows of every node to aboard_hooks_t.trace when they are produced; needs ABOARD_HOOKS.
 * - ABOARD_RUN_OP: 1 compiles aboard_model_t.run_op, which runs a single node.
 *
 * Each option is 0 by default. Without the options, only an unused argument remains of the hooks. Only generated code
 * includes this file.
 */
#ifndef ABOARD_HOOKS_H
#define ABOARD_HOOKS_H

#include "aboard/config.h"
#include "aboard/model.h"

#ifndef ABOARD_HOOKS
#define ABOARD_HOOKS 0
#endif
#ifndef ABOARD_TRACE
#define ABOARD_TRACE 0
#endif
#ifndef ABOARD_RUN_OP
#define ABOARD_RUN_OP 0
#endif
#if ABOARD_TRACE && !ABOARD_HOOKS
#error "ABOARD_TRACE needs ABOARD_HOOKS"
#endif

/** Returns the status of `call` from the calling function unless the status is ABOARD_OK. */
#define ABOARD_RETURN_IF_ERROR(call)                                                                                   \
    do {                                                                                                               \
        const aboard_status_t hook_status = (call);                                                                    \
        if (hook_status != ABOARD_OK) {                                                                                \
            return hook_status;                                                                                        \
        }                                                                                                              \
    } while (0)

#if ABOARD_HOOKS
/** Calls the hook before node `n`. */
#define ABOARD_BEGIN(n)                                                                                                \
    if (hooks != NULL && hooks->begin != NULL)                                                                         \
    ABOARD_RETURN_IF_ERROR(hooks->begin(hooks->user, (n)))
/** Calls the hook after node `n`. */
#define ABOARD_END(n)                                                                                                  \
    if (hooks != NULL && hooks->end != NULL)                                                                           \
    ABOARD_RETURN_IF_ERROR(hooks->end(hooks->user, (n)))
#else
#define ABOARD_BEGIN(n)
#define ABOARD_END(n)
#endif

#if ABOARD_TRACE
/** Passes rows to the trace hook; the arguments initialise an aboard_trace_t, in the order of its fields. */
#define ABOARD_TRACE_ROWS(...)                                                                                         \
    if (hooks != NULL && hooks->trace != NULL) {                                                                       \
        const aboard_trace_t trace = {__VA_ARGS__};                                                                    \
        ABOARD_RETURN_IF_ERROR(hooks->trace(hooks->user, &trace));                                                     \
    }
#else
#define ABOARD_TRACE_ROWS(...)
#endif

#endif
