/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"
#include "weights.h"

/** Bytes of the entry of an output channel: 40 bits of bias, 32 of scale, 6 of shift. */
#define SCALE_BYTES 10u
#define ACCUMULATES_40_BITS 1u

/** A convolution. */
typedef struct {
    ethos_u_window_t window;
    ethos_u_map_t input;
    ethos_u_output_t output;
    ethos_u_layer_t layer;
    const uint8_t *scales;
    int64_t most; /**< Largest sum of the accumulators. */
} convolution_t;

static int64_t bias(const uint8_t *entry) {
    const uint64_t low = entry[0] | (uint64_t)entry[1] << 8 | (uint64_t)entry[2] << 16 | (uint64_t)entry[3] << 24;
    return (int64_t)low + (int64_t)(int8_t)entry[4] * ((int64_t)1 << 32);
}

static uint32_t scale(const uint8_t *entry) {
    return entry[5] | (uint32_t)entry[6] << 8 | (uint32_t)entry[7] << 16 | (uint32_t)entry[8] << 24;
}

/** Sum of the products of a pixel's channels and weights. */
static int64_t dot(const ethos_u_map_t *map, const uint8_t *pixel, const int16_t *weights, uint32_t channels) {
    int64_t sum = 0;
    for (uint32_t c = 0; c < channels; c += ETHOS_U_BRICK) {
        const uint8_t *brick = pixel + ethos_u_map_channel(map, c);
        const uint32_t count = channels - c < ETHOS_U_BRICK ? channels - c : ETHOS_U_BRICK;
        if (map->element == 1u && map->is_signed) {
            int32_t part = 0;
            for (uint32_t i = 0; i < count; i++) {
                part += weights[c + i] * ((int8_t)brick[i] - map->zero);
            }
            sum += part;
        } else {
            for (uint32_t i = 0; i < count; i++) {
                sum += weights[c + i] * ethos_u_map_value(map, brick + (size_t)i * map->element);
            }
        }
    }
    return sum;
}

/** Adds the products of a tap to the sums of the output channels in the room. */
static void add_tap(ethos_u_model_t *model, const convolution_t *v, const uint8_t *pixel, uint32_t tap) {
    const ethos_u_layer_t *layer = &v->layer;
    const int16_t *weights = model->weights + (size_t)tap * layer->inputs;
    for (uint32_t c = 0; c < layer->count; c++, weights += layer->each) {
        model->sums[c] += layer->depthwise ? *weights * ethos_u_map_get(&v->input, pixel, layer->first + c)
                                           : dot(&v->input, pixel, weights, layer->inputs);
        if (model->sums[c] > v->most || model->sums[c] < -v->most - 1) {
            ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a sum beyond the accumulator", model->sums[c]);
        }
    }
}

/** Computes the output channels in the room of a pixel. */
static void compute_pixel(ethos_u_model_t *model, const convolution_t *v, uint32_t y, uint32_t x) {
    const ethos_u_window_t *w = &v->window;
    const ethos_u_layer_t *layer = &v->layer;
    for (uint32_t c = 0; c < layer->count; c++) {
        model->sums[c] = bias(v->scales + (size_t)(layer->first + c) * SCALE_BYTES);
    }
    for (uint32_t tap = 0; tap < w->height * w->width; tap++) {
        const int64_t row = (int64_t)y * w->stride_y + (int64_t)(tap / w->width) * w->dilation_y - w->top;
        const int64_t column = (int64_t)x * w->stride_x + (int64_t)(tap % w->width) * w->dilation_x - w->left;
        bool inside;
        const uint8_t *pixel = ethos_u_window_pixel(model, w, &v->input, row, column, &inside);
        if (pixel != NULL) {
            add_tap(model, v, pixel, tap);
        }
    }
    uint8_t *target = ethos_u_map_pixel(model, &v->output.map, y, x, v->output.channels);
    for (uint32_t c = 0; target != NULL && c < layer->count && model->status == ETHOS_U_MODEL_OK; c++) {
        const uint8_t *entry = v->scales + (size_t)(layer->first + c) * SCALE_BYTES;
        uint32_t shift = entry[9] & 63u;
        const uint32_t factor = v->output.is_global ? ethos_u_global_scale(model, &shift) : scale(entry);
        ethos_u_output_put(model, &v->output, target, layer->first + c,
                           ethos_u_rescale(model, model->sums[c], factor, shift, v->output.rounding));
    }
}

static void read_scales(ethos_u_model_t *model, convolution_t *v) {
    size_t bytes;
    const uint64_t at = ethos_u_wide(model, SCALE_BASE);
    const uint8_t *memory = ethos_u_memory(model, ethos_u_plain(model, SCALE_REGION), false, &bytes);
    const uint64_t wanted = (uint64_t)v->window.output_depth * SCALE_BYTES;
    if (memory == NULL) {
        return;
    }
    if (at > bytes || wanted > bytes - at) {
        ethos_u_fail(model, ETHOS_U_MODEL_BUS, "biases and scales reach outside of their region", (int64_t)at);
        return;
    }
    v->scales = memory + at;
}

static ethos_u_model_status_t read(ethos_u_model_t *model, convolution_t *v, bool depthwise) {
    const uint32_t accumulators = ethos_u_plain(model, ACC_FORMAT);
    ethos_u_window_read(model, &v->window);
    ethos_u_map_read(model, ETHOS_U_IFM, &v->input);
    ethos_u_output_read(model, &v->output);
    read_scales(model, v);
    const ethos_u_window_t *w = &v->window;
    v->most = accumulators == ACCUMULATES_40_BITS ? ((int64_t)1 << 39) - 1 : INT32_MAX;
    if (accumulators > ACCUMULATES_40_BITS) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "accumulators of another form than integers",
                     (int64_t)accumulators);
    }
    if (v->input.element == 4u || (depthwise && w->input_depth != w->output_depth)) {
        ethos_u_fail(model, ETHOS_U_MODEL_UNMODELLED, "a convolution of this element type, or number of channels",
                     (int64_t)w->input_depth);
    }
    const uint32_t inputs = depthwise ? 1u : w->input_depth;
    v->layer = (ethos_u_layer_t){
        .outputs = w->output_depth,
        .height = w->height,
        .width = w->width,
        .inputs = inputs,
        .each = w->height * w->width * inputs,
        .depthwise = depthwise,
        .part_kernel = w->part_kernel && !depthwise,
        .dilation_y = w->dilation_y,
        .dilation_x = w->dilation_x,
    };
    return model->status;
}

ethos_u_model_status_t ethos_u_convolve(ethos_u_model_t *model, bool depthwise) {
    convolution_t v;
    if (read(model, &v, depthwise) != ETHOS_U_MODEL_OK) {
        return model->status;
    }
    const uint64_t pixels = (uint64_t)v.window.output_height * v.window.output_width;
    if (v.layer.each > UINT32_MAX / v.layer.outputs || !ethos_u_spend(model, pixels) ||
        !ethos_u_spend(model, (uint64_t)v.layer.each * v.layer.outputs)) {
        return ethos_u_fail(model, ETHOS_U_MODEL_COMMAND, "a convolution of too many weights", (int64_t)v.layer.each);
    }
    while (ethos_u_weights_pass(model, &v.layer)) {
        if (ethos_u_weights_load(model, &v.layer) != ETHOS_U_MODEL_OK ||
            !ethos_u_spend(model, pixels * v.layer.count > UINT64_MAX / v.layer.each
                                      ? UINT64_MAX
                                      : pixels * v.layer.count * v.layer.each)) {
            return model->status;
        }
        for (uint32_t y = 0; y < v.window.output_height; y++) {
            for (uint32_t x = 0; x < v.window.output_width; x++) {
                compute_pixel(model, &v, y, x);
                if (model->status != ETHOS_U_MODEL_OK) {
                    return model->status;
                }
            }
        }
    }
    return model->status;
}
