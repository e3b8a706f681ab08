/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#define MODE_MAX 0u
#define MODE_AVERAGE 1u
#define MODE_REDUCE_SUM 2u

/** A pooling. */
typedef struct {
    ethos_u_window_t window;
    ethos_u_map_t input;
    ethos_u_output_t output;
    uint32_t mode;
} pooling_t;

/** The elements of a window. */
typedef struct {
    int64_t value; /**< Their sum, or the largest. */
    int64_t count; /**< How many lie on the map. */
} elements_t;

static void add(const pooling_t *p, const uint8_t *pixel, uint32_t c, elements_t *found) {
    const uint32_t first = p->mode == MODE_REDUCE_SUM ? 0u : c;
    const uint32_t end = p->mode == MODE_REDUCE_SUM ? p->window.input_depth : c + 1u;
    for (uint32_t i = first; i < end; i++) {
        const int64_t value = ethos_u_map_get(&p->input, pixel, i);
        if (p->mode == MODE_MAX) {
            found->value = found->count == 0 || value > found->value ? value : found->value;
        } else {
            found->value += value;
        }
        found->count++;
    }
}

/** The average of elements at the border of a map: divided by how many there are, whatever OFM_SCALE says. */
static int64_t average(ethos_u_model_t *model, const pooling_t *p, const elements_t *found) {
    uint32_t k = 0;
    while ((found->count - 1) >> k != 0) {
        k++;
    }
    const int64_t scale = (((int64_t)1 << (31u + k)) + ((int64_t)1 << k)) / found->count;
    return ethos_u_rescale(model, found->value, (uint32_t)scale, 31u + k, p->output.rounding);
}

static int64_t pooled(ethos_u_model_t *model, const pooling_t *p, uint32_t y, uint32_t x, uint32_t c) {
    const ethos_u_window_t *w = &p->window;
    elements_t found = {0, 0};
    for (uint32_t tap = 0; tap < w->height * w->width; tap++) {
        const int64_t row = (int64_t)y * w->stride_y + (int64_t)(tap / w->width) * w->dilation_y - w->top;
        const int64_t column = (int64_t)x * w->stride_x + (int64_t)(tap % w->width) * w->dilation_x - w->left;
        bool inside;
        const uint8_t *pixel = ethos_u_window_pixel(model, w, &p->input, row, column, &inside);
        if (pixel != NULL) {
            add(p, pixel, c, &found);
        }
    }
    if (found.count == 0) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a window without an element", (int64_t)y << 16 | (int64_t)x);
        return 0;
    }
    if (p->mode == MODE_AVERAGE && w->is_padded) {
        return average(model, p, &found);
    }
    uint32_t shift = 0;
    if (!p->output.is_global) {
        return found.value;
    }
    const uint32_t scale = ethos_u_global_scale(model, &shift);
    return ethos_u_rescale(model, found.value, scale, shift, p->output.rounding);
}

static ethos_u_model_status_t read(ethos_u_model_t *model, pooling_t *p, uint32_t mode) {
    p->mode = mode;
    ethos_u_window_read(model, &p->window);
    ethos_u_map_read(model, ETHOS_U_IFM, &p->input);
    ethos_u_output_read(model, &p->output);
    const ethos_u_window_t *w = &p->window;
    if (mode > MODE_REDUCE_SUM) {
        ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "an unknown pooling", (int64_t)mode);
    }
    if ((mode == MODE_AVERAGE && !p->output.is_global && !w->is_padded) || w->upscale == 2u) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED,
                     "an average without a scale, or a pooling of zeros between elements", (int64_t)w->upscale);
    }
    if (mode == MODE_REDUCE_SUM ? w->output_depth != 1u : w->output_depth != w->input_depth) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a pooling to another number of channels",
                     (int64_t)w->output_depth);
    }
    return model->status;
}

ethos_u_model_status_t ethos_u_pool(ethos_u_model_t *model, uint32_t mode) {
    pooling_t p;
    if (read(model, &p, mode) != ETHOS_U_MODEL_OK) {
        return model->status;
    }
    const ethos_u_window_t *w = &p.window;
    const uint64_t pixels = (uint64_t)w->output_height * w->output_width;
    const uint64_t work = (uint64_t)w->height * w->width * w->input_depth;
    if (!ethos_u_spend(model, pixels > UINT64_MAX / work ? UINT64_MAX : pixels * work)) {
        return model->status;
    }
    for (uint32_t y = 0; y < w->output_height; y++) {
        for (uint32_t x = 0; x < w->output_width; x++) {
            uint8_t *target = ethos_u_map_pixel(model, &p.output.map, y, x, w->output_depth);
            for (uint32_t c = 0; c < w->output_depth && model->status == ETHOS_U_MODEL_OK; c++) {
                ethos_u_output_put(model, &p.output, target, c, pooled(model, &p, y, x, c));
            }
            if (model->status != ETHOS_U_MODEL_OK) {
                return model->status;
            }
        }
    }
    return model->status;
}
