/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file infer.h
 * Runs inferences and prints their results. Internal to mlperf.c.
 */
#ifndef ABOARD_MLPERF_INFER_H
#define ABOARD_MLPERF_INFER_H

#include <stdbool.h>

#include "mlperf_config.h"

/** Bytes of an input in the form that the runner loads. */
size_t aboard_mlperf_wire_bytes(const aboard_mlperf_config_t *config);

/** True if the types of the model's input and output match the configuration. */
bool aboard_mlperf_types_fit(const aboard_mlperf_config_t *config);

/** Makes the input for all inferences of a series. */
void aboard_mlperf_prepare(const aboard_mlperf_config_t *config);

/** Restores the input and runs the model, `count` times; ends early with the status of a run that fails. */
aboard_status_t aboard_mlperf_repeat(const aboard_mlperf_config_t *config, uint32_t count);

/** Sends the line with the results of the last inference. */
void aboard_mlperf_put_results(const aboard_mlperf_config_t *config);

#endif
