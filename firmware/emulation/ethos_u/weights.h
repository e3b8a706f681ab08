/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file weights.h
 * Decoder of the compressed weight stream, one weight at a time, in constant memory.
 *
 * A stream is a sequence of slices; bits are read from the lowest of each byte on. A slice has a header (divisors of
 * its Golomb-Rice codes, number of weights, perhaps a new palette), then chunks. A chunk has up to 12 quotients of
 * weights, up to 12 quotients of runs of zeros, and the remainders that belong to the chunk before. Quotients of
 * weights and runs are interleaved: the one that is ahead waits.
 */
#ifndef ETHOS_U_WEIGHTS_H
#define ETHOS_U_WEIGHTS_H

#include "ethos_u_model.h"

/** Values that are decoded and not yet taken: more than two chunks, a power of two. */
#define ETHOS_U_READY 64u
/** Most codes of a chunk. */
#define ETHOS_U_CHUNK 12u

/** One of the two interleaved codes: weights, or runs of zeros. */
typedef struct {
    uint32_t left;                    /**< Codes of the slice whose quotient is still to be read. */
    uint32_t read;                    /**< Codes of the slice whose quotient was read. */
    uint32_t carry;                   /**< Quotient so far of a code that goes on in the next chunk. */
    uint32_t pending;                 /**< Codes of the last chunk, whose remainders are to be read. */
    uint32_t quotient[ETHOS_U_CHUNK]; /**< Their quotients. */
    uint32_t ready[ETHOS_U_READY];    /**< Complete values, a ring. */
    uint32_t first;                   /**< Values that were taken. */
    uint32_t count;                   /**< Values that are complete. */
} ethos_u_code_t;

/** A decoder. Nothing in it is for the caller. */
typedef struct {
    const uint8_t *data;
    size_t bits;
    size_t at;
    bool wrong; /**< The stream breaks a rule of its format, or ends within a slice. */
    bool ended;
    uint32_t weight_divisor;
    uint32_t run_divisor;
    bool has_runs;
    bool is_raw;
    bool is_truncated;
    uint32_t raw_bits;
    uint32_t direct_offset;
    uint32_t palette_size;
    uint32_t palette_bits;
    uint16_t palette[32];
    ethos_u_code_t weight;
    ethos_u_code_t run;
    uint32_t left;    /**< Weights of the slice, runs apart, that were not returned. */
    uint32_t zeros;   /**< Zeros to return before anything else. */
    bool run_is_next; /**< A run of zeros follows. */
} ethos_u_decoder_t;

/** Begins to decode a stream. */
void ethos_u_decoder_begin(ethos_u_decoder_t *decoder, const uint8_t *data, size_t bytes);

/**
 * Decodes the next weight.
 * @param weight  -255 to 255.
 * @return False at the end, and where the stream is wrong (`wrong`).
 */
bool ethos_u_decoder_next(ethos_u_decoder_t *decoder, int16_t *weight);

/** True if only zeros follow, and the stream ends without an error. Takes no longer than the stream is long. */
bool ethos_u_decoder_only_zeros(ethos_u_decoder_t *decoder);

/** The weights of a layer, and the part of them that the model's room holds. */
typedef struct {
    uint32_t outputs; /**< Output channels of the layer. */
    uint32_t height;  /**< Taps of the kernel, without its dilation. */
    uint32_t width;
    uint32_t inputs; /**< Input channels of an output: 1 in a depthwise convolution. */
    uint32_t first;  /**< First output channel in the room. */
    uint32_t count;  /**< Number of output channels in the room. */
    uint32_t each;   /**< Weights of an output channel. */
    bool depthwise;
    bool part_kernel; /**< Weights are in the order of part-kernel-first traversal. */
    uint32_t dilation_y;
    uint32_t dilation_x;
} ethos_u_layer_t;

/**
 * Decodes the weights of output channels `first` to `first + count` into the model's room, in the order output, row,
 * column, input; `first` and `count` must have been set by `ethos_u_weights_pass`.
 */
ethos_u_model_status_t ethos_u_weights_load(ethos_u_model_t *model, const ethos_u_layer_t *layer);

/** Sets `first` and `count` to the next output channels that fit the room; false after the last, or with an error. */
bool ethos_u_weights_pass(ethos_u_model_t *model, ethos_u_layer_t *layer);

#endif
