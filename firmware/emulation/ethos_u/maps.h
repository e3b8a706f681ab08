/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file maps.h
 * Feature maps: where their elements are, and what they say. A map lies in up to four tiles, each with its own base:
 * 0 upper left, 1 upper right, 2 lower left, 3 lower right. In a tile, elements are at
 *
 *     NHWC:     y * stride_y + x * stride_x + c * bytes
 *     NHCWB16:  y * stride_y + x * stride_x + (c / 16) * stride_c + (c % 16) * bytes
 */
#ifndef ETHOS_U_MAPS_H
#define ETHOS_U_MAPS_H

#include "commands.h"

/** Channels of a brick of NHCWB16. */
#define ETHOS_U_BRICK 16u

/** A feature map. */
typedef struct {
    uint8_t *memory;
    size_t bytes; /**< Of its region. */
    uint64_t base[4];
    uint32_t width0;
    uint32_t height0;
    uint32_t height1;
    uint64_t stride_x; /**< Strides longer than the region are one longer than it, which no access survives. */
    uint64_t stride_y;
    uint64_t stride_c;
    uint32_t element; /**< Bytes of an element: 1, 2 or 4. */
    bool is_signed;
    bool is_blocked; /**< NHCWB16. */
    int32_t zero;    /**< Zero point. */
} ethos_u_map_t;

/** The feature maps of an operation. */
typedef enum { ETHOS_U_IFM, ETHOS_U_OFM, ETHOS_U_IFM2 } ethos_u_which_t;

/** Reads the registers of a feature map; errors as for `ethos_u_plain`. */
ethos_u_model_status_t ethos_u_map_read(ethos_u_model_t *model, ethos_u_which_t which, ethos_u_map_t *map);

/** Element type and zero point alone, for a scalar operand. */
ethos_u_model_status_t ethos_u_map_type(ethos_u_model_t *model, ethos_u_which_t which, ethos_u_map_t *map);

/**
 * Finds a pixel.
 * @param channels  Channels that will be accessed, from 0 on: all are in the region.
 * @return Channel 0; NULL after an error.
 */
uint8_t *ethos_u_map_pixel(ethos_u_model_t *model, const ethos_u_map_t *map, uint32_t y, uint32_t x, uint32_t channels);

/** Offset of a channel from channel 0 of its pixel. */
static inline uint64_t ethos_u_map_channel(const ethos_u_map_t *map, uint32_t c) {
    if (!map->is_blocked) {
        return (uint64_t)c * map->element;
    }
    return (uint64_t)(c / ETHOS_U_BRICK) * map->stride_c + (uint64_t)(c % ETHOS_U_BRICK) * map->element;
}

/** Value of an element, less the zero point. */
static inline int64_t ethos_u_map_value(const ethos_u_map_t *map, const uint8_t *element) {
    switch (map->element) {
    case 1:
        return (map->is_signed ? (int64_t)(int8_t)element[0] : (int64_t)element[0]) - map->zero;
    case 2: {
        const uint16_t value = (uint16_t)(element[0] | element[1] << 8);
        return (map->is_signed ? (int64_t)(int16_t)value : (int64_t)value) - map->zero;
    }
    default: {
        const uint32_t value =
            element[0] | (uint32_t)element[1] << 8 | (uint32_t)element[2] << 16 | (uint32_t)element[3] << 24;
        return (int64_t)(int32_t)value - map->zero;
    }
    }
}

/** Value of a channel of a pixel, less the zero point. */
static inline int64_t ethos_u_map_get(const ethos_u_map_t *map, const uint8_t *pixel, uint32_t c) {
    return ethos_u_map_value(map, pixel + ethos_u_map_channel(map, c));
}

/** A window that slides over an input map. */
typedef struct {
    uint32_t height; /**< Taps, without the dilation. */
    uint32_t width;
    uint32_t stride_y;
    uint32_t stride_x;
    uint32_t dilation_y;
    uint32_t dilation_x;
    bool part_kernel;
    int64_t input_height; /**< Of the map after upscaling, without padding: it follows from the output. */
    int64_t input_width;
    uint32_t output_height;
    uint32_t output_width;
    uint32_t output_depth;
    uint32_t input_depth;
    int64_t top; /**< Padding. */
    int64_t left;
    bool is_padded;
    uint32_t upscale; /**< 0 none, 1 nearest, 2 zeros between elements. */
} ethos_u_window_t;

/** Reads the registers of a window; errors as for `ethos_u_plain`. */
ethos_u_model_status_t ethos_u_window_read(ethos_u_model_t *model, ethos_u_window_t *window);

/**
 * Finds the input pixel under a tap.
 * @param inside  Set: whether the tap lies on the map. A tap on padding, or on a zero between elements, has no pixel.
 * @return The pixel, or NULL where there is none, or after an error.
 */
const uint8_t *ethos_u_window_pixel(ethos_u_model_t *model, const ethos_u_window_t *window, const ethos_u_map_t *map,
                                    int64_t y, int64_t x, bool *inside);

#endif
