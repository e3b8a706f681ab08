/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rows.h
 * Serves streamed inputs (-input=rows): BEGIN, and WRITE from the first byte of the input to the last. Each row is
 * pushed to the model as soon as its last byte has arrived; RUN then computes the rest.
 *
 * The linker includes this code only if a configuration names it:
 *
 *     .rows = &aboard_server_rows,
 */
#ifndef ABOARD_RPC_ROWS_H
#define ABOARD_RPC_ROWS_H

#include "state.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The functions for aboard_server_config_t.rows; requests.c calls them.
 *
 * `begin` returns ABOARD_OK; ABOARD_ERROR_INDEX (no such model), ABOARD_ERROR_UNSUPPORTED (its input is not streamed,
 * or the image lacks a feature), ABOARD_ERROR_RANGE (unknown flag), or the status of the model.
 *
 * `write` is called for a model whose input is streamed. It returns ABOARD_OK; ABOARD_ERROR_STATE (no BEGIN before),
 * ABOARD_ERROR_RANGE (the data do not follow the last, go beyond the input, or in a trace beyond the row), or the
 * status of the model, which ends the stream.
 */
extern const aboard_server_rows_t aboard_server_rows;

#ifdef __cplusplus
}
#endif

#endif
