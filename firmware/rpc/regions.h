/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file regions.h
 * The memory that a request may read or write: a tensor, or the workspace. Every access of the host is bounded here.
 */
#ifndef ABOARD_RPC_REGIONS_H
#define ABOARD_RPC_REGIONS_H

#include "state.h"

/** Memory that a request may read or write. */
typedef struct {
    uint8_t *data;
    size_t bytes;
} aboard_region_t;

/** Returns the memory of a tensor of a model of the configuration. */
aboard_region_t aboard_tensor_region(const aboard_server_t *server, const aboard_model_t *model,
                                     const aboard_tensor_t *tensor);

/**
 * Replies with a part of a region.
 *
 * @param range  From the host: u32 offset, u32 length; any numbers.
 * @return ABOARD_OK; ABOARD_ERROR_RANGE (the part is not inside the region, or too long for a message).
 */
aboard_status_t aboard_read_region(aboard_server_t *server, const aboard_region_t *region, const uint8_t *range);

/**
 * Writes a part of a region.
 *
 * @param piece  From the host: u32 offset, which may be any number, then the data.
 * @param count  Bytes of the data.
 * @return ABOARD_OK; ABOARD_ERROR_RANGE (the part is not inside the region: nothing is written).
 */
aboard_status_t aboard_write_region(const aboard_region_t *region, const uint8_t *piece, size_t count);

#endif
