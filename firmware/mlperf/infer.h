/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file infer.h
 * Runs inferences and prints their results. Called by mlperf.c; not for applications.
 */
#ifndef ABOARD_MLPERF_INFER_H
#define ABOARD_MLPERF_INFER_H

#include <stdbool.h>

#include "mlperf_config.h"

/** Bytes that the runner loads for an input. */
size_t aboard_mlperf_wire_bytes(const aboard_mlperf_config_t *config);

/** True when the types of the model's input and output are what the configuration says of them. */
bool aboard_mlperf_types_fit(const aboard_mlperf_config_t *config);

/** Makes the input that all inferences of a series are given. */
void aboard_mlperf_prepare(const aboard_mlperf_config_t *config);

/** Restores the input and runs the model, `count` times; ends early with the status of a run that fails. */
aboard_status_t aboard_mlperf_repeat(const aboard_mlperf_config_t *config, uint32_t count);

/** Sends the line with the results of the last inference. */
void aboard_mlperf_put_results(const aboard_mlperf_config_t *config);

#endif
