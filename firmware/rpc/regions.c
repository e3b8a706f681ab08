/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"

#include <string.h>

#include "models.h"
#include "reply.h"

aboard_region_t aboard_tensor_region(const aboard_server_t *server, const aboard_model_t *model,
                                     const aboard_tensor_t *tensor) {
    const aboard_region_t region = {aboard_memory_of(server, model)[tensor->arena].data + tensor->offset,
                                    tensor->bytes};
    return region;
}

/* Returns true if [offset, offset + count) is inside a region. The numbers come from the host and may be any: no sum
 * of them is formed, because it could wrap. */
static bool inside(const aboard_region_t *region, uint32_t offset, size_t count) {
    return offset <= region->bytes && count <= region->bytes - offset;
}

aboard_status_t aboard_read_region(aboard_server_t *server, const aboard_region_t *region, const uint8_t *range) {
    const uint32_t offset = aboard_get_u32(range);
    const uint32_t count = aboard_get_u32(range + 4);
    if (!inside(region, offset, count) || count > aboard_payload_max(server)) {
        return ABOARD_ERROR_RANGE;
    }
    aboard_reply_data(server, 0, region->data + offset, count);
    return ABOARD_OK;
}

aboard_status_t aboard_write_region(const aboard_region_t *region, const uint8_t *piece, size_t count) {
    const uint32_t offset = aboard_get_u32(piece);
    if (!inside(region, offset, count)) {
        return ABOARD_ERROR_RANGE;
    }
    memcpy(region->data + offset, piece + 4, count);
    return ABOARD_OK;
}
