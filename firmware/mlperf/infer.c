/* SPDX-License-Identifier: Apache-2.0 */
#include "infer.h"

#include <string.h>

#include "text.h"

#define PIXEL_SIGN 0x80u /* flipping this bit subtracts 128 from a pixel */

static uint8_t *place(const aboard_mlperf_config_t *config, const aboard_tensor_t *tensor) {
    return config->memory[tensor->arena].data + tensor->offset;
}

static float float_at(const uint8_t *data, size_t index) {
    float value;
    memcpy(&value, data + index * sizeof value, sizeof value);
    return value;
}

size_t aboard_mlperf_wire_bytes(const aboard_mlperf_config_t *config) {
    const size_t bytes = config->model->inputs[0].bytes;
    return config->input == ABOARD_MLPERF_FLOAT32 ? bytes * sizeof(float) : bytes;
}

bool aboard_mlperf_types_fit(const aboard_mlperf_config_t *config) {
    const aboard_tensor_t *input = &config->model->inputs[0];
    const aboard_tensor_t *output = &config->model->outputs[0];
    const bool told = output->type == ABOARD_INT8 || output->type == ABOARD_UINT8 || output->type == ABOARD_FLOAT32;
    const bool as_it_is = config->input == ABOARD_MLPERF_RAW && config->results == ABOARD_MLPERF_VALUES;
    const bool compared =
        config->results == ABOARD_MLPERF_VALUES ||
        (config->input == ABOARD_MLPERF_FLOAT32 && output->type == ABOARD_INT8 && output->bytes == input->bytes);
    return told && (as_it_is || (input->type == ABOARD_INT8 && compared));
}

/* Rounds to nearest, ties away from zero. */
static int8_t quantize(float value, float scale, int32_t zero_point) {
    const float scaled = value / scale;
    const float low = (float)(INT8_MIN - zero_point);
    const float high = (float)(INT8_MAX - zero_point);
    /* The comparisons map NaN to the lower bound. */
    const float bounded = scaled > low ? (scaled < high ? scaled : high) : low;
    const int32_t rounded = (int32_t)(bounded < 0 ? bounded - 0.5f : bounded + 0.5f);
    return (int8_t)(rounded + zero_point);
}

void aboard_mlperf_prepare(const aboard_mlperf_config_t *config) {
    if (config->input != ABOARD_MLPERF_FLOAT32) {
        return;
    }
    for (size_t i = 0; i < config->model->inputs[0].bytes; ++i) {
        config->quantized[i] =
            (uint8_t)quantize(float_at(config->db, i), config->input_scale, config->input_zero_point);
    }
}

static void restore(const aboard_mlperf_config_t *config) {
    const aboard_tensor_t *input = &config->model->inputs[0];
    uint8_t *to = place(config, input);
    if (config->input != ABOARD_MLPERF_PIXELS) {
        memcpy(to, config->input == ABOARD_MLPERF_RAW ? config->db : config->quantized, input->bytes);
        return;
    }
    for (size_t i = 0; i < input->bytes; ++i) {
        to[i] = config->db[i] ^ PIXEL_SIGN;
    }
}

aboard_status_t aboard_mlperf_repeat(const aboard_mlperf_config_t *config, uint32_t count) {
    const aboard_model_t *model = config->model;
    aboard_status_t status = ABOARD_OK;
    for (uint32_t i = 0; i < count && status == ABOARD_OK; ++i) {
        restore(config);
        status = model->run_in != NULL ? model->run_in(config->memory, NULL)
                                       : model->run(config->memory->data, config->memory->bytes, NULL);
    }
    return status;
}

static float output_at(const aboard_mlperf_config_t *config, size_t index) {
    const aboard_tensor_t *output = &config->model->outputs[0];
    const uint8_t *data = place(config, output);
    if (output->type == ABOARD_FLOAT32) {
        return float_at(data, index);
    }
    const int32_t value = output->type == ABOARD_INT8 ? (int8_t)data[index] : data[index];
    return config->output_scale * (float)(value - config->output_zero_point);
}

static float mean_squared_error(const aboard_mlperf_config_t *config) {
    const size_t count = config->model->outputs[0].bytes;
    float sum = 0;
    for (size_t i = 0; i < count; ++i) {
        const float difference = output_at(config, i) - float_at(config->db, i);
        sum += difference * difference;
    }
    return sum / (float)count;
}

void aboard_mlperf_put_results(const aboard_mlperf_config_t *config) {
    const aboard_tensor_t *output = &config->model->outputs[0];
    const size_t count = output->bytes / (output->type == ABOARD_FLOAT32 ? sizeof(float) : 1);
    aboard_put("m-results-[");
    if (config->results == ABOARD_MLPERF_ERROR) {
        aboard_put_decimal(mean_squared_error(config));
    }
    for (size_t i = 0; i < count && config->results == ABOARD_MLPERF_VALUES; ++i) {
        aboard_put(i == 0 ? "" : ",");
        aboard_put_decimal(output_at(config, i));
    }
    aboard_put("]\r\n");
}
