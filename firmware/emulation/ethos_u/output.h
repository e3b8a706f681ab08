/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file output.h
 * What follows a sum: rescaling, zero point, clamp, table, and the store of an element.
 */
#ifndef ETHOS_U_OUTPUT_H
#define ETHOS_U_OUTPUT_H

#include "maps.h"

/** Ways to round. */
typedef enum {
    ETHOS_U_TFL,      /**< As TensorFlow Lite's reference, twice: halves up at bit 31, then halves away from zero. */
    ETHOS_U_TRUNCATE, /**< Towards zero. */
    ETHOS_U_NATURAL   /**< Once, halves up. */
} ethos_u_rounding_t;

/** The last steps of an operation. */
typedef struct {
    ethos_u_map_t map;
    uint32_t channels;
    ethos_u_rounding_t rounding;
    bool is_global; /**< OFM_SCALE holds for all channels, instead of an entry for each. */
    bool clamps;
    int64_t low;
    int64_t high;
    const uint8_t *table; /**< NULL for none. */
    uint32_t entry;       /**< Bytes of an entry of the table. */
    bool interpolates;    /**< The table has base and slope for each 128 values of 16 bits. */
    int64_t first;        /**< Value of the first entry. */
} ethos_u_output_t;

/** Reads the registers of the output; errors as for `ethos_u_plain`. */
ethos_u_model_status_t ethos_u_output_read(ethos_u_model_t *model, ethos_u_output_t *output);

/** v / 2^shift, halves up. `shift` is at most 62, and |v| at most 1.5 * 2^62. */
int64_t ethos_u_half_up(int64_t v, uint32_t shift);

/** v / 2^shift, halves away from zero. */
int64_t ethos_u_half_away(int64_t v, uint32_t shift);

/** v * scale / 2^shift in a way to round; a product beyond 1.5 * 2^62, or a rounding beyond 62 bits, is an error. */
int64_t ethos_u_rescale(ethos_u_model_t *model, int64_t v, uint32_t scale, uint32_t shift, ethos_u_rounding_t rounding);

/** Scale and shift of OFM_SCALE. */
uint32_t ethos_u_global_scale(ethos_u_model_t *model, uint32_t *shift);

/** Adds the zero point to a rescaled value, clamps it, looks it up, and stores it as a channel of a pixel. */
void ethos_u_output_put(ethos_u_model_t *model, const ethos_u_output_t *output, uint8_t *pixel, uint32_t c, int64_t v);

#endif
