/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mlperf_config.h
 * The configuration of the MLPerf Tiny server: types without functions. An application includes mlperf.h.
 */
#ifndef ABOARD_MLPERF_CONFIG_H
#define ABOARD_MLPERF_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "aboard/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Form of the bytes that the runner loads. */
typedef enum {
    ABOARD_MLPERF_RAW,    /**< The elements of the input. */
    ABOARD_MLPERF_PIXELS, /**< Unsigned pixels for an int8 input: 128 is subtracted. */
    ABOARD_MLPERF_FLOAT32 /**< float32, little-endian, for an int8 input: quantised before the first inference. */
} aboard_mlperf_input_t;

/** Form of the result that the server sends. */
typedef enum {
    ABOARD_MLPERF_VALUES, /**< Every element of the output, dequantised. */
    ABOARD_MLPERF_ERROR   /**< The mean squared error between input and output; with ABOARD_MLPERF_FLOAT32 only. */
} aboard_mlperf_results_t;

/**
 * The model that a server offers, and its memory. The caller owns all memory, and keeps it for as long as the server is
 * polled. The configuration itself is kept by address; it may be stored in flash. Buffers must not overlap.
 */
typedef struct {
    const aboard_model_t *model;     /**< The benchmark uses its first input and its first output. */
    const aboard_memory_t *memory;   /**< The arena, or several arenas in the order of the model. */
    uint8_t *db;                     /**< Stores the input that the runner loads; each inference copies it. */
    size_t db_bytes;                 /**< Bytes of an input in the form that the runner loads. */
    uint8_t *quantized;              /**< With ABOARD_MLPERF_FLOAT32: the input in the model's type. Else NULL. */
    aboard_mlperf_input_t input;     /**< Form of the bytes that the runner loads. */
    aboard_mlperf_results_t results; /**< Form of the result. */
    float input_scale;               /**< Scale of the input; with ABOARD_MLPERF_FLOAT32 only. */
    int32_t input_zero_point;        /**< Zero point of the input, in the same case. */
    float output_scale;              /**< Scale of the output, unless it is float32. */
    int32_t output_zero_point;       /**< Zero point of the output, unless it is float32. */
    const char *name;                /**< Answer to `name`, such as "arm/mps2_an386". */
    const char *benchmark;           /**< Answer to `profile`: the benchmark's name of the model, such as "kws01". */
} aboard_mlperf_config_t;

#ifdef __cplusplus
}
#endif

#endif
