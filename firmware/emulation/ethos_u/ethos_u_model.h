/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ethos_u_model.h
 * Functional model of the Arm Ethos-U55: what a command stream that Vela compiled does to memory. It has no timing.
 *
 * The model computes what Vela 5.2 emits for the Ethos-U55, and stops with an error in words at everything else. It
 * was compared with tflite-micro and not with hardware: it shows that stream and constants say what the network says.
 * The stream is hostile input: no stream makes the model access memory outside of the given regions.
 *
 * The caller owns all memory. The model allocates nothing and has no state but `ethos_u_model_t`.
 *
 *     static ethos_u_model_t model;
 *     ethos_u_model_init(&model, 128, weights, sizeof weights / sizeof weights[0]);
 *     ethos_u_model_region(&model, 0, constants, constants_bytes, false);
 *     if (ethos_u_model_run(&model, stream, words) != ETHOS_U_MODEL_OK) puts(model.problem);
 */
#ifndef ETHOS_U_MODEL_H
#define ETHOS_U_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a stream ended. */
typedef enum {
    ETHOS_U_MODEL_OK = 0,         /**< The stream reached its stop command. */
    ETHOS_U_MODEL_COMMAND = 1,    /**< The stream is wrong: a command, a register or a value that the NPU has not. */
    ETHOS_U_MODEL_BUS = 2,        /**< An access outside of its region, or a write to one that is read only. */
    ETHOS_U_MODEL_UNMODELLED = 3, /**< The NPU may compute this; the model does not. */
    ETHOS_U_MODEL_ROOM = 4        /**< The buffer for weights, or the budget of operations, is too small. */
} ethos_u_model_status_t;

/** Memory that a base pointer of the NPU leads to. */
typedef struct {
    uint8_t *base;
    size_t bytes;
    bool writable;
} ethos_u_region_t;

/** Number of base pointers. */
#define ETHOS_U_REGIONS 8u
/** Bytes of the shared RAM of the largest configuration. */
#define ETHOS_U_SHRAM_BYTES 49152u
/** Most output channels whose sums are formed at once. */
#define ETHOS_U_SUMS 256u
/** Number of registers without and with a payload. */
#define ETHOS_U_PLAIN 0x90u
#define ETHOS_U_WIDE 0x88u

/** An NPU. After a run, only `problem`, `got`, `at` and `operations` are for the caller. */
typedef struct {
    ethos_u_region_t region[ETHOS_U_REGIONS];
    uint32_t macs;        /**< Multiply-accumulates in a cycle: 32, 64, 128 or 256. */
    uint32_t shram_bytes; /**< Bytes of its shared RAM. */
    int16_t *weights;     /**< Room for weights of a layer, at least of 8 output channels. */
    size_t weights_room;  /**< Number of weights that fit. */
    uint64_t budget;      /**< Multiply-accumulates and elements that a run may compute; a bound for hostile streams. */
    const char *problem;  /**< Why the run stopped, in words; NULL after success. */
    int64_t got;          /**< The value that `problem` speaks of. */
    uint32_t at;          /**< Word of the stream at which the run stopped. */
    uint32_t operations;  /**< Operations that were computed. */
    ethos_u_model_status_t status;
    uint16_t plain[ETHOS_U_PLAIN];
    uint32_t wide[ETHOS_U_WIDE];
    uint16_t wide_high[ETHOS_U_WIDE];
    bool plain_set[ETHOS_U_PLAIN];
    bool wide_set[ETHOS_U_WIDE];
    int64_t sums[ETHOS_U_SUMS];
    uint8_t shram[ETHOS_U_SHRAM_BYTES];
} ethos_u_model_t;

/**
 * Makes an NPU without regions.
 * @param model         Filled.
 * @param macs          Multiply-accumulates in a cycle: 32, 64, 128 or 256. Other values make every run fail.
 * @param weights       Room for the weights of a layer; used in every run.
 * @param weights_room  Number of weights that fit. Layers with more are computed in several passes over their weights;
 *                      those of eight output channels have to fit.
 */
void ethos_u_model_init(ethos_u_model_t *model, uint32_t macs, int16_t *weights, size_t weights_room);

/**
 * Gives the memory that a base pointer leads to; it stays the caller's.
 * @param index     0 to 7; other values are ignored.
 * @param writable  False for memory that a stream may only read.
 */
void ethos_u_model_region(ethos_u_model_t *model, uint32_t index, void *base, size_t bytes, bool writable);

/**
 * Runs a command stream to its stop command. Registers have no values at first.
 * @param stream  Words in the byte order of the CPU, aligned to 4 bytes.
 * @return ETHOS_U_MODEL_OK, or why the run stopped; `problem` says it in words. Memory may have been written before.
 */
ethos_u_model_status_t ethos_u_model_run(ethos_u_model_t *model, const uint32_t *stream, size_t words);

#ifdef __cplusplus
}
#endif

#endif
