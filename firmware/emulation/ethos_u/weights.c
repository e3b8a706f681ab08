/* SPDX-License-Identifier: Apache-2.0 */
#include "weights.h"

#include <string.h>

#include "commands.h"

/** Input channels of a micro block, and the largest part of a kernel that is traversed at once. */
#define MICRO_INPUTS 8u
#define SUB_KERNEL 8u
/** Input channels of a block, depth first with 8 bits, else. */
#define DEPTH_FIRST 32u
#define SHALLOW 16u
/** Elements of 16 bits, in bits 2 and 3 of IFM_PRECISION. */
#define IS_16_BITS(precision) (((precision) >> 2 & 3u) == 1u)

/** Where the weights of a block of a sub-kernel belong. */
typedef struct {
    ethos_u_model_t *model;
    const ethos_u_layer_t *layer;
    ethos_u_decoder_t decoder;
    uint32_t micro_outputs;
    uint32_t first_row; /**< Sub-kernel: its first tap, and its size. */
    uint32_t first_column;
    uint32_t rows;
    uint32_t columns;
} unpacking_t;

bool ethos_u_weights_pass(ethos_u_model_t *model, ethos_u_layer_t *layer) {
    layer->first += layer->count;
    if (layer->first >= layer->outputs || model->status != ETHOS_U_MODEL_OK) {
        return false;
    }
    const size_t fitting = model->weights_room / layer->each;
    if (fitting < MICRO_INPUTS && fitting < layer->outputs) {
        ethos_u_fail(model, ETHOS_U_MODEL_ROOM, "the weights of eight output channels do not fit the room for weights",
                     (int64_t)layer->each * (int64_t)MICRO_INPUTS);
        return false;
    }
    const uint32_t left = layer->outputs - layer->first;
    uint32_t count = left < ETHOS_U_SUMS ? left : ETHOS_U_SUMS;
    if (fitting < count) {
        count = (uint32_t)fitting;
    }
    layer->count = count;
    return true;
}

/** Puts a weight where it belongs, if it is in the room. Weights that only fill a block have to be 0. */
static bool place(const unpacking_t *u, uint32_t output, uint32_t input, uint32_t tap, int16_t weight) {
    const ethos_u_layer_t *layer = u->layer;
    const uint32_t row = tap / u->columns, column = tap % u->columns;
    if (output >= layer->outputs || input >= layer->inputs || row >= u->rows) {
        if (weight != 0) {
            ethos_u_fail(u->model, ETHOS_U_MODEL_UNMODELLED, "a weight other than 0 that belongs to no channel and tap",
                         weight);
        }
        return weight == 0;
    }
    if (output >= layer->first && output - layer->first < layer->count) {
        const size_t at = (size_t)(output - layer->first) * layer->each +
                          ((size_t)(u->first_row + row) * layer->width + u->first_column + column) * layer->inputs +
                          input;
        u->model->weights[at] = weight;
    }
    return true;
}

/** Decodes the micro block of a tap: several outputs, and of each several inputs. */
static bool micro_block(unpacking_t *u, uint32_t output, uint32_t input, uint32_t tap) {
    const uint32_t inputs = u->layer->depthwise ? 1u : MICRO_INPUTS;
    for (uint32_t o = 0; o < u->micro_outputs; o++) {
        for (uint32_t i = 0; i < inputs; i++) {
            int16_t weight = 0;
            if (!ethos_u_decoder_next(&u->decoder, &weight)) {
                ethos_u_fail(u->model, ETHOS_U_MODEL_COMMAND, "the weight stream is wrong, or ends within a layer",
                             (int64_t)(u->decoder.at >> 3));
                return false;
            }
            if (!place(u, output + o, input + i, tap, weight)) {
                return false;
            }
        }
    }
    return true;
}

/** Decodes a sub-kernel of a block of outputs and a block of inputs. */
static bool sub_kernel(unpacking_t *u, uint32_t output, uint32_t outputs, uint32_t input, uint32_t inputs, bool wide) {
    const ethos_u_layer_t *layer = u->layer;
    uint32_t taps = u->rows * u->columns;
    if (layer->depthwise || (layer->part_kernel && !wide)) {
        taps = (taps + 3u) & ~3u;
    } else if (layer->part_kernel) {
        taps = (taps + 1u) & ~1u;
    }
    const uint32_t outer = layer->part_kernel ? inputs : 1u, inner = layer->part_kernel ? 1u : inputs;
    for (uint32_t io = 0; io < outer; io += MICRO_INPUTS) {
        for (uint32_t o = 0; o < outputs; o += u->micro_outputs) {
            for (uint32_t tap = 0; tap < taps; tap++) {
                for (uint32_t ii = 0; ii < inner; ii += MICRO_INPUTS) {
                    if (!micro_block(u, output + o, input + io + ii, tap)) {
                        return false;
                    }
                }
            }
        }
    }
    return true;
}

/** Decodes the sub-kernels of a block of outputs and a block of inputs. */
static bool block(unpacking_t *u, uint32_t output, uint32_t outputs, uint32_t input, uint32_t inputs, bool wide) {
    const ethos_u_layer_t *layer = u->layer;
    const uint32_t most_rows = SUB_KERNEL / layer->dilation_y, most_columns = SUB_KERNEL / layer->dilation_x;
    for (uint32_t y = 0; y < layer->height; y += most_rows) {
        u->first_row = y;
        u->rows = layer->height - y < most_rows ? layer->height - y : most_rows;
        for (uint32_t x = 0; x < layer->width; x += most_columns) {
            u->first_column = x;
            u->columns = layer->width - x < most_columns ? layer->width - x : most_columns;
            if (!sub_kernel(u, output, outputs, input, inputs, wide)) {
                return false;
            }
        }
    }
    return true;
}

static void unpack(unpacking_t *u, uint32_t block_outputs, bool wide) {
    const ethos_u_layer_t *layer = u->layer;
    const uint32_t step = layer->part_kernel || wide ? SHALLOW : DEPTH_FIRST;
    for (uint32_t output = 0; output < layer->outputs; output += block_outputs) {
        const uint32_t left = layer->outputs - output, outputs = left < block_outputs ? left : block_outputs;
        for (uint32_t input = 0; input < layer->inputs; input += step) {
            const uint32_t rest = layer->inputs - input;
            uint32_t inputs = layer->part_kernel && rest < step ? rest : step;
            if (layer->depthwise) {
                inputs = MICRO_INPUTS;
            }
            if (!block(u, output, outputs, input, inputs, wide)) {
                return;
            }
        }
    }
    if (!ethos_u_decoder_only_zeros(&u->decoder)) {
        ethos_u_fail(u->model, ETHOS_U_MODEL_COMMAND, "the weight stream has more weights than its layer",
                     (int64_t)(u->decoder.at >> 3));
    }
}

ethos_u_model_status_t ethos_u_weights_load(ethos_u_model_t *model, const ethos_u_layer_t *layer) {
    size_t bytes;
    const uint64_t begin = ethos_u_wide(model, WEIGHT_BASE), length = ethos_u_wide(model, WEIGHT_LENGTH);
    const uint8_t *memory = ethos_u_memory(model, ethos_u_plain(model, WEIGHT_REGION), false, &bytes);
    const uint32_t block_outputs = ethos_u_plain(model, OFM_BLK_DEPTH_M1) + 1u;
    const bool wide = IS_16_BITS(ethos_u_plain(model, IFM_PRECISION));
    if (model->status != ETHOS_U_MODEL_OK) {
        return model->status;
    }
    if (begin > bytes || length > bytes - begin) {
        return ethos_u_fail(model, ETHOS_U_MODEL_BUS, "the weight stream reaches outside of its region",
                            (int64_t)begin);
    }
    if (!ethos_u_spend(model, (uint64_t)layer->outputs * layer->each)) {
        return model->status;
    }
    unpacking_t unpacking;
    unpacking.model = model;
    unpacking.layer = layer;
    unpacking.micro_outputs = model->macs == 32u ? 4u : 8u;
    ethos_u_decoder_begin(&unpacking.decoder, memory + begin, (size_t)length);
    unpack(&unpacking, block_outputs, wide);
    return model->status;
}
