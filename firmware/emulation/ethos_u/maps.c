/* SPDX-License-Identifier: Apache-2.0 */
#include "maps.h"

/** Most taps of a window in a direction. */
#define MOST_TAPS 256u
#define UPSCALE_ZEROS 2u

/** First registers of the maps; those of a kind are at the same distances from it, but for some of the output's. */
static const uint32_t PLAIN[] = {0x00, 0x10, 0x80}, WIDE[] = {IFM_BASE0, OFM_BASE0, IFM2_BASE0};
static const uint32_t PRECISION[] = {IFM_PRECISION, OFM_PRECISION, IFM2_PRECISION};
static const uint32_t ZERO_POINT[] = {IFM_ZERO_POINT, OFM_ZERO_POINT, IFM2_ZERO_POINT};
static const uint32_t FROM_WIDTH0 = 0x0a, FROM_HEIGHT0 = 0x0b, FROM_HEIGHT1 = 0x0c, FROM_REGION = 0x0f;
static const uint32_t FROM_STRIDE_X = 4, FROM_STRIDE_Y = 5, FROM_STRIDE_C = 6;

ethos_u_model_status_t ethos_u_map_type(ethos_u_model_t *model, ethos_u_which_t which, ethos_u_map_t *map) {
    const uint32_t precision = ethos_u_plain(model, PRECISION[which]);
    const uint32_t size = which == ETHOS_U_OFM ? precision >> 1 & 3u : precision >> 2 & 3u;
    const uint32_t layout = precision >> 6 & 3u;
    map->is_signed = (precision & 1u) != 0;
    map->element = 1u << size;
    map->is_blocked = layout == 1u;
    map->zero =
        map->is_signed ? ethos_u_signed(model, ZERO_POINT[which]) : (int32_t)ethos_u_plain(model, ZERO_POINT[which]);
    if (size == 3u || (size == 2u && !map->is_signed) || layout > 1u || (which != ETHOS_U_OFM && (precision & 2u))) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a feature map of an unknown element type or layout",
                            (int64_t)precision);
    }
    return model->status;
}

static uint64_t stride(ethos_u_model_t *model, const ethos_u_map_t *map, uint32_t reg) {
    const uint64_t value = ethos_u_wide(model, reg);
    return value > map->bytes ? map->bytes + 1u : value;
}

ethos_u_model_status_t ethos_u_map_read(ethos_u_model_t *model, ethos_u_which_t which, ethos_u_map_t *map) {
    const uint32_t plain = PLAIN[which], wide = WIDE[which];
    ethos_u_map_type(model, which, map);
    map->memory = ethos_u_memory(model, ethos_u_plain(model, plain + FROM_REGION), which == ETHOS_U_OFM, &map->bytes);
    for (uint32_t i = 0; i < 4u; i++) {
        map->base[i] = ethos_u_wide(model, wide + i);
    }
    map->width0 = ethos_u_plain(model, plain + FROM_WIDTH0) + 1u;
    map->height0 = ethos_u_plain(model, plain + FROM_HEIGHT0) + 1u;
    map->height1 = ethos_u_plain(model, plain + FROM_HEIGHT1) + 1u;
    map->stride_x = stride(model, map, wide + FROM_STRIDE_X);
    map->stride_y = stride(model, map, wide + FROM_STRIDE_Y);
    map->stride_c = map->is_blocked ? stride(model, map, wide + FROM_STRIDE_C) : 0u;
    const uint32_t align = map->is_blocked ? ETHOS_U_BRICK : map->element;
    if (map->base[0] % align != 0) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a feature map whose base is not aligned",
                            (int64_t)map->base[0]);
    }
    return model->status;
}

uint8_t *ethos_u_map_pixel(ethos_u_model_t *model, const ethos_u_map_t *map, uint32_t y, uint32_t x,
                           uint32_t channels) {
    const bool right = x >= map->width0;
    const uint32_t height = right ? map->height1 : map->height0;
    const bool low = y >= height;
    const uint64_t base = map->base[(right ? 1u : 0u) + (low ? 2u : 0u)];
    const uint64_t row = low ? y - height : y, column = right ? x - map->width0 : x;
    const uint64_t at = row * map->stride_y + column * map->stride_x;
    uint64_t last = ethos_u_map_channel(map, channels - 1u);
    if (map->is_blocked && channels > ETHOS_U_BRICK) {
        const uint64_t before = ethos_u_map_channel(map, (channels - 1u) / ETHOS_U_BRICK * ETHOS_U_BRICK - 1u);
        last = before > last ? before : last;
    }
    if (base > map->bytes || at > map->bytes - base || last + map->element > map->bytes - base - at) {
        ethos_u_fail(model, ETHOS_U_MODEL_BUS, "a feature map reaches outside of its region", (int64_t)base);
        return NULL;
    }
    return map->memory + base + at;
}

ethos_u_model_status_t ethos_u_window_read(ethos_u_model_t *model, ethos_u_window_t *w) {
    const uint32_t s = ethos_u_plain(model, KERNEL_STRIDE);
    const uint32_t high = ethos_u_plain(model, KERNEL_HEIGHT_M1), across = ethos_u_plain(model, KERNEL_WIDTH_M1);
    const int64_t top = ethos_u_plain(model, IFM_PAD_TOP), left = ethos_u_plain(model, IFM_PAD_LEFT);
    const int64_t bottom = ethos_u_plain(model, IFM_PAD_BOTTOM), right = ethos_u_plain(model, IFM_PAD_RIGHT);
    w->stride_x = 1u + (s & 1u) + ((s >> 6 & 7u) << 1);
    w->stride_y = 1u + (s >> 1 & 1u) + ((s >> 9 & 7u) << 1);
    w->part_kernel = (s >> 2 & 1u) != 0;
    w->dilation_x = 1u + (s >> 3 & 1u);
    w->dilation_y = 1u + (s >> 4 & 1u);
    w->height = high / w->dilation_y + 1u;
    w->width = across / w->dilation_x + 1u;
    w->output_height = ethos_u_plain(model, OFM_HEIGHT_M1) + 1u;
    w->output_width = ethos_u_plain(model, OFM_WIDTH_M1) + 1u;
    w->output_depth = ethos_u_plain(model, OFM_DEPTH_M1) + 1u;
    w->input_depth = ethos_u_plain(model, IFM_DEPTH_M1) + 1u;
    w->top = top;
    w->left = left;
    w->is_padded = (top | left | bottom | right) != 0;
    w->input_height = (int64_t)(w->output_height - 1u) * w->stride_y + high + 1 - top - bottom;
    w->input_width = (int64_t)(w->output_width - 1u) * w->stride_x + across + 1 - left - right;
    w->upscale = ethos_u_plain(model, IFM_UPSCALE);
    if (w->height > MOST_TAPS || w->width > MOST_TAPS || high % w->dilation_y != 0 || across % w->dilation_x != 0) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a window of an impossible size",
                            (int64_t)high << 16 | (int64_t)across);
    }
    if (w->upscale > UPSCALE_ZEROS) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown way of upscaling", (int64_t)w->upscale);
    }
    return model->status;
}

const uint8_t *ethos_u_window_pixel(ethos_u_model_t *model, const ethos_u_window_t *w, const ethos_u_map_t *map,
                                    int64_t y, int64_t x, bool *inside) {
    *inside = y >= 0 && x >= 0 && y < w->input_height && x < w->input_width;
    if (!*inside || (w->upscale == UPSCALE_ZEROS && ((y | x) & 1) != 0)) {
        return NULL;
    }
    const uint32_t shift = w->upscale != 0 ? 1u : 0u;
    return ethos_u_map_pixel(model, map, (uint32_t)(y >> shift), (uint32_t)(x >> shift), w->input_depth);
}
