/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sample.h
 * Proves a build: runs a model on samples and compares its results with the results of the compiler.
 *
 * Inputs are not stored: both sides generate them from the number of the sample. For integer results that do not depend
 * on floats, a checksum is stored and must be equal. For all other results, some values are stored and must be near. If
 * the model was compiled with ABOARD_HOOKS and ABOARD_TRACE, the results of every operator of the first sample are also
 * compared, to find the first wrong operator.
 *
 * This file is not part of the model or of its sizes. The test of a model includes it once (test/<name>_test.c).
 */
#ifndef ABOARD_SAMPLE_H
#define ABOARD_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "aboard/hooks.h"
#include "aboard/model.h"

/** The expected output of a sample. */
typedef struct {
    uint32_t checksum;   /**< CRC-32 of the elements, lowest byte first; used if `values` is NULL. */
    const float *values; /**< Elements 0, `step`, 2 `step` and so on; NULL if all elements must be equal. */
    uint32_t count;      /**< Number of values. */
    uint32_t step;
    float tolerance; /**< Largest difference between an element and its value. */
} aboard_sample_output_t;

/** The expected result of an operator. */
typedef struct {
    uint16_t node;
    uint16_t output;
    uint32_t checksum; /**< CRC-32 of the elements, lowest byte first. */
} aboard_sample_result_t;

/** A model and its expected results. */
typedef struct {
    const aboard_model_t *model;
    uint32_t samples;
    const aboard_sample_output_t *outputs; /**< Outputs of the first sample, then of the next samples. */
    const aboard_sample_result_t
        *results; /**< Results of the operators in the first sample, in the order of their first step. */
    uint32_t result_count;
    uint32_t *checksums; /**< Memory for `result_count` checksums. */
} aboard_sample_test_t;

/** The result of a test; all indices count from 0. */
typedef struct {
    enum { ABOARD_SAMPLE_OK, ABOARD_SAMPLE_STATUS, ABOARD_SAMPLE_NODE, ABOARD_SAMPLE_OUTPUT } what;
    uint32_t sample;
    aboard_status_t status; /**< Status of the run. */
    uint32_t node;          /**< The first operator with a wrong result. */
    uint32_t output;        /**< Index of the wrong result of the operator, or of the wrong output of the model. */
} aboard_sample_finding_t;

/** Aligned address for an arena; `memory` must have ABOARD_ARENA_ALIGN bytes more than the arena. */
static inline uint8_t *aboard_sample_aligned(uint8_t *memory) {
    return memory + (ABOARD_ARENA_ALIGN - (uintptr_t)memory % ABOARD_ARENA_ALIGN) % ABOARD_ARENA_ALIGN;
}

/** 32 bits for element `index` of an input; `aboard.emit.sample` computes the same value. */
static inline uint32_t aboard_sample_bits(uint32_t sample, uint32_t input, uint32_t index) {
    uint32_t x = index + UINT32_C(0x9E3779B9) * (1 + 8 * sample + input);
    x = (x ^ x >> 16) * UINT32_C(0x85EBCA6B);
    x = (x ^ x >> 13) * UINT32_C(0xC2B2AE35);
    return x ^ x >> 16;
}

/** Bytes of an element. */
static inline uint32_t aboard_sample_element_bytes(uint8_t type) {
    static const uint8_t sizes[] = {1, 1, 2, 4, 8, 1, 4, 4, 8};
    return sizes[type];
}

/** Writes element `index` of an input. */
static inline void aboard_sample_set(uint8_t *to, uint8_t type, uint32_t bits) {
    const int16_t half = (int16_t)((int32_t)(bits & 0xffffu) - 32768);
    const int32_t word = half;
    const int64_t wide = half;
    const float real = (float)((int32_t)(bits & 0xffffffu) - 0x800000) / 4194304.0f;
    switch (type) {
    case ABOARD_INT16:
        memcpy(to, &half, sizeof(half));
        break;
    case ABOARD_INT32:
    case ABOARD_UINT32:
        memcpy(to, &word, sizeof(word));
        break;
    case ABOARD_INT64:
    case ABOARD_UINT64:
        memcpy(to, &wide, sizeof(wide));
        break;
    case ABOARD_FLOAT32:
        memcpy(to, &real, sizeof(real));
        break;
    case ABOARD_BOOL:
        *to = bits & 1u;
        break;
    default:
        *to = (uint8_t)(bits & 0xffu);
        break;
    }
}

/** An element as a float. */
static inline float aboard_sample_get(const uint8_t *from, uint8_t type) {
    int16_t half;
    int32_t word;
    int64_t wide;
    float real;
    switch (type) {
    case ABOARD_INT8:
        return (float)(int8_t)*from;
    case ABOARD_INT16:
        memcpy(&half, from, sizeof(half));
        return (float)half;
    case ABOARD_INT32:
        memcpy(&word, from, sizeof(word));
        return (float)word;
    case ABOARD_UINT32:
        memcpy(&word, from, sizeof(word));
        return (float)(uint32_t)word;
    case ABOARD_INT64:
        memcpy(&wide, from, sizeof(wide));
        return (float)wide;
    case ABOARD_UINT64:
        memcpy(&wide, from, sizeof(wide));
        return (float)(uint64_t)wide;
    case ABOARD_FLOAT32:
        memcpy(&real, from, sizeof(real));
        return real;
    default:
        return (float)*from;
    }
}

/** Updates a CRC-32 with a byte. */
static inline uint32_t aboard_sample_crc(uint32_t crc, uint8_t byte) {
    crc = ~crc ^ byte;
    for (int bit = 0; bit < 8; ++bit) {
        crc = crc >> 1 ^ (crc & 1u ? UINT32_C(0xEDB88320) : 0);
    }
    return ~crc;
}

/** Updates a CRC-32 with elements, lowest byte first on every machine. */
static inline uint32_t aboard_sample_checksum(uint32_t crc, const uint8_t *from, uint32_t count, uint32_t bytes) {
    const uint16_t one = 1;
    uint8_t lowest_first;
    memcpy(&lowest_first, &one, 1);
    for (uint32_t i = 0; i < count * bytes; ++i) {
        crc = aboard_sample_crc(crc, from[lowest_first ? i : i / bytes * bytes + bytes - 1 - i % bytes]);
    }
    return crc;
}

/** Trace hook: updates the checksums with rows of an operator's result. */
static inline aboard_status_t aboard_sample_trace(void *user, const aboard_trace_t *trace) {
    const aboard_sample_test_t *const test = (const aboard_sample_test_t *)user;
    for (uint32_t i = 0; i < test->result_count; ++i) {
        if (test->results[i].node != trace->node || test->results[i].output != trace->output) {
            continue;
        }
        for (int32_t row = 0; row < (int32_t)trace->rows; ++row) {
            for (int32_t col = 0; col < (int32_t)trace->cols; ++col) {
                const uint8_t *const pixel = trace->data + row * trace->row_stride + col * trace->pixel_stride;
                test->checksums[i] =
                    aboard_sample_checksum(test->checksums[i], pixel, trace->channels, trace->element_bytes);
            }
        }
    }
    return ABOARD_OK;
}

/** Writes input `input` of a sample into the arena, or streams it row by row. */
static inline aboard_status_t aboard_sample_bring(const aboard_model_t *model, const aboard_memory_t *memory,
                                                  uint32_t sample, uint32_t input, const aboard_hooks_t *hooks) {
    const aboard_tensor_t *const tensor = &model->inputs[input];
    const uint32_t bytes = aboard_sample_element_bytes(tensor->type);
    const uint32_t rows = model->stream ? model->stream->rows : 1;
    const uint32_t count = (model->stream ? model->stream->row_bytes : tensor->bytes) / bytes;
    for (uint32_t row = 0; row < rows; ++row) {
        uint8_t *const to =
            model->stream ? (uint8_t *)model->stream->slot(memory) : memory[tensor->arena].data + tensor->offset;
        for (uint32_t i = 0; i < count; ++i) {
            aboard_sample_set(to + i * bytes, tensor->type, aboard_sample_bits(sample, input, row * count + i));
        }
        const aboard_status_t status = model->stream ? model->stream->push(memory, to, hooks) : ABOARD_OK;
        if (status != ABOARD_OK) {
            return status;
        }
    }
    return ABOARD_OK;
}

/** Runs a sample. */
static inline aboard_status_t aboard_sample_run(const aboard_model_t *model, const aboard_memory_t *memory,
                                                uint32_t sample, const aboard_hooks_t *hooks) {
    aboard_status_t status = model->stream ? model->stream->begin(memory) : ABOARD_OK;
    for (uint32_t input = 0; status == ABOARD_OK && input < model->input_count; ++input) {
        status = aboard_sample_bring(model, memory, sample, input, hooks);
    }
    if (status != ABOARD_OK) {
        return status;
    }
    return model->run_in ? model->run_in(memory, hooks) : model->run(memory[0].data, memory[0].bytes, hooks);
}

/** True if an output matches its expected values. */
static inline bool aboard_sample_agrees(const aboard_tensor_t *tensor, const aboard_memory_t *memory,
                                        const aboard_sample_output_t *wanted) {
    const uint8_t *const from = memory[tensor->arena].data + tensor->offset;
    const uint32_t bytes = aboard_sample_element_bytes(tensor->type);
    if (wanted->values == NULL) {
        return aboard_sample_checksum(0, from, tensor->bytes / bytes, bytes) == wanted->checksum;
    }
    for (uint32_t i = 0; i < wanted->count; ++i) {
        const float difference = aboard_sample_get(from + i * wanted->step * bytes, tensor->type) - wanted->values[i];
        if (!(difference <= wanted->tolerance && difference >= -wanted->tolerance)) {
            return false;
        }
    }
    return true;
}

/**
 * Runs all samples of a test until one is wrong. A model with state runs them as one sequence.
 *
 * @param test    The test.
 * @param memory  One entry per arena of the model, then the state block if there is one, as for `run_in`.
 * @return The first failure, or success.
 */
static inline aboard_sample_finding_t aboard_sample_check(const aboard_sample_test_t *test,
                                                          const aboard_memory_t *memory) {
    aboard_sample_test_t copy = *test;
    const aboard_hooks_t hooks = {&copy, NULL, NULL, aboard_sample_trace};
    aboard_sample_finding_t found = {ABOARD_SAMPLE_OK, 0, ABOARD_OK, 0, 0};
    found.status = test->model->reset ? test->model->reset(memory) : ABOARD_OK;
    if (found.status != ABOARD_OK) {
        found.what = ABOARD_SAMPLE_STATUS;
        return found;
    }
    for (; found.sample < test->samples; ++found.sample) {
        if (test->result_count > 0) {
            memset(test->checksums, 0, test->result_count * sizeof(test->checksums[0]));
        }
        found.status = aboard_sample_run(test->model, memory, found.sample, &hooks);
        if (found.status != ABOARD_OK) {
            found.what = ABOARD_SAMPLE_STATUS;
            return found;
        }
#if ABOARD_HOOKS && ABOARD_TRACE
        for (uint32_t i = 0; found.sample == 0 && i < test->result_count; ++i) {
            if (test->checksums[i] != test->results[i].checksum) {
                found.what = ABOARD_SAMPLE_NODE;
                found.node = test->results[i].node;
                found.output = test->results[i].output;
                return found;
            }
        }
#endif
        for (found.output = 0; found.output < test->model->output_count; ++found.output) {
            if (!aboard_sample_agrees(&test->model->outputs[found.output], memory,
                                      &test->outputs[found.sample * test->model->output_count + found.output])) {
                found.what = ABOARD_SAMPLE_OUTPUT;
                return found;
            }
        }
    }
    return found;
}

#endif
