/* SPDX-License-Identifier: Apache-2.0 */
#include "requests.h"

#include <string.h>

#include "aboard/config.h"
#include "aboard/port.h"
#include "models.h"
#include "regions.h"
#include "reply.h"
#include "run.h"

enum { INPUTS_KEPT = 1, INPUTS_RESTORED = 2, INPUT_STREAMED = 4 };
/* Bytes of the replies to HELLO and MODEL in front of their texts. */
#define HELLO_BYTES 34
#define MODEL_BYTES 14
/* Inputs whose WRITE is recorded, one bit for each; inputs beyond share these bits. */
#define WATCHED_INPUTS 32
/* Longest name in the reply to MODEL: with the 46 bytes before it and one after, it fits the shortest frame. */
#define MAX_NAME 64

/* The memory of an input for WRITE and READ: in the input copy if the model uses it, else in an arena. */
static aboard_region_t input_region(const aboard_server_t *server, const aboard_model_t *model, uint8_t index) {
    aboard_region_t region = aboard_tensor_region(server, model, &model->inputs[index]);
    if (aboard_uses_copy(server, model)) {
        region.data = server->config->input_copy;
        for (uint8_t i = 0; i < index; ++i) {
            region.data += model->inputs[i].bytes;
        }
    }
    return region;
}

/* Using the workspace destroys tensors then. */
static bool workspace_is_in_arena(const aboard_server_t *server) {
    const aboard_server_config_t *config = server->config;
    const uintptr_t workspace = (uintptr_t)config->workspace;
    for (uint8_t m = 0; m < config->model_count; ++m) {
        const aboard_model_t *model = config->models[m];
        const aboard_memory_t *memory = aboard_memory_of(server, model);
        const aboard_memory_t *const end = memory + ABOARD_MAX(model->arena_count, 1);
        for (; memory != end; ++memory) {
            const uintptr_t arena = (uintptr_t)memory->data;
            if (workspace < arena + memory->bytes && arena < workspace + config->workspace_bytes) {
                return true;
            }
        }
    }
    return false;
}

static aboard_status_t hello(aboard_server_t *server) {
    const aboard_server_config_t *config = server->config;
    const size_t board = aboard_text_length(config->board, UINT8_MAX);
    const size_t build = aboard_text_length(config->build, UINT8_MAX);
    uint32_t features = config->features & (ABOARD_FEATURE_PROFILE | ABOARD_FEATURE_TRACE);
    features &= config->node_ticks != NULL ? ~0u : ~(uint32_t)ABOARD_FEATURE_PROFILE;
    features |= config->workspace != NULL ? ABOARD_FEATURE_RUN_OP : 0u;
    features |= config->input_copy != NULL ? ABOARD_FEATURE_INPUT_COPY : 0u;
    features |= config->burst != 0 ? ABOARD_FEATURE_CREDIT : 0u;
    const uint32_t words[] = {ABOARD_RPC_MAJOR | ABOARD_RPC_MINOR << 8 | (uint32_t)config->model_count << 16,
                              features,
                              aboard_port_tick_hz(),
                              config->frame_bytes | (uint32_t)config->burst << 16,
                              (uint32_t)config->arena_bytes,
                              config->input_copy != NULL ? (uint32_t)config->input_copy_bytes : 0,
                              config->workspace != NULL ? (uint32_t)config->workspace_bytes : 0,
                              aboard_port_fault()->kind,
                              (uint32_t)(board | build << 8)};
    aboard_reply_words(server, words, HELLO_BYTES);
    aboard_reply_data(server, 0, config->board, board);
    aboard_reply_data(server, 1, config->build, build);
    return ABOARD_OK;
}

static aboard_status_t describe_model(aboard_server_t *server, const uint8_t *payload) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    const size_t name = aboard_text_length(model->name, MAX_NAME);
    const uint32_t flags = (model->inputs_kept ? INPUTS_KEPT : 0u) |
                           (aboard_uses_copy(server, model) ? INPUTS_RESTORED : 0u) |
                           (model->stream != NULL ? INPUT_STREAMED : 0u);
    const uint32_t words[] = {(uint32_t)model->arena_bytes, (uint32_t)model->op_bytes,
                              model->nodes | (uint32_t)model->input_count << 16 | (uint32_t)model->output_count << 24,
                              flags | (uint32_t)name << 8};
    aboard_reply_words(server, words, MODEL_BYTES);
    memcpy(server->reply + MODEL_BYTES, model->hash, sizeof model->hash);
    server->reply_count = MODEL_BYTES + sizeof model->hash;
    aboard_reply_data(server, 0, model->name, name);
    aboard_reply_data(server, 1, &model->state_count, sizeof model->state_count);
    return ABOARD_OK;
}

static aboard_status_t write_tensor(aboard_server_t *server, const uint8_t *payload, size_t count) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const uint8_t index = payload[2];
    if (model == NULL || payload[1] != ABOARD_RPC_INPUT || index >= model->input_count) {
        return ABOARD_ERROR_INDEX;
    }
    count -= 8;
    if (model->stream != NULL) {
        return server->config->rows->write(server, payload, count);
    }
    const aboard_region_t region = input_region(server, model, index);
    const aboard_status_t status = aboard_write_region(&region, payload + 4, count);
    if (status != ABOARD_OK) {
        return status;
    }
    server->streaming = 0;
    if (server->input_model != payload[0]) {
        server->input_model = payload[0];
        server->inputs = 0;
    }
    if (!aboard_uses_copy(server, model)) {
        server->output_model = 0;
    }
    server->inputs |= (uint32_t)1 << (index % WATCHED_INPUTS);
    return ABOARD_OK;
}

static aboard_status_t read_tensor(aboard_server_t *server, const uint8_t *payload) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const uint8_t kind = payload[1];
    const uint8_t index = payload[2];
    if (model == NULL || kind > ABOARD_RPC_OUTPUT ||
        index >= (kind == ABOARD_RPC_INPUT ? model->input_count : model->output_count)) {
        return ABOARD_ERROR_INDEX;
    }
    aboard_region_t region;
    if (kind == ABOARD_RPC_INPUT) {
        if (model->stream != NULL) {
            return ABOARD_ERROR_UNSUPPORTED;
        }
        region = input_region(server, model, index);
    } else if (server->output_model == payload[0] + 1) {
        region = aboard_tensor_region(server, model, &model->outputs[index]);
    } else {
        return ABOARD_ERROR_STATE;
    }
    return aboard_read_region(server, &region, payload + 4);
}

static aboard_status_t read_profile(aboard_server_t *server, const uint8_t *payload) {
    const uint32_t first = aboard_get_u16(payload);
    const uint32_t count = aboard_get_u16(payload + 2);
    const size_t bytes = count * sizeof(uint64_t);
    if (server->config->node_ticks == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (first + count > server->config->node_ticks_count || bytes > aboard_payload_max(server)) {
        return ABOARD_ERROR_RANGE;
    }
    aboard_reply_data(server, 0, server->config->node_ticks + first, bytes);
    return ABOARD_OK;
}

static aboard_status_t reach_workspace(aboard_server_t *server, const aboard_message_t *request) {
    const uint8_t *payload = request->payload;
    const aboard_region_t region = {server->config->workspace, server->config->workspace_bytes};
    if (region.data == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (request->type == ABOARD_RPC_OP_READ) {
        return aboard_read_region(server, &region, payload);
    }
    if (workspace_is_in_arena(server)) {
        server->output_model = 0;
        server->inputs = 0;
        server->streaming = 0;
    }
    if (request->type == ABOARD_RPC_OP_RUN) {
        return aboard_request_op_run(server, payload);
    }
    return aboard_write_region(&region, payload, request->count - 4);
}

static aboard_status_t read_stats(aboard_server_t *server) {
    const aboard_server_stats_t *stats = &server->stats;
    const uint32_t words[] = {stats->frames,  stats->damaged,  stats->too_long,
                              stats->strange, stats->requests, stats->duplicates};
    aboard_reply_words(server, words, sizeof words);
    return ABOARD_OK;
}

static bool is_about_state(const aboard_message_t *request) {
    const uint8_t type = request->type;
    return type == ABOARD_RPC_RESET_STATE ||
           ((type == ABOARD_RPC_WRITE || type == ABOARD_RPC_READ) && request->payload[1] == ABOARD_RPC_STATE);
}

aboard_status_t aboard_request(aboard_server_t *server, const aboard_message_t *request) {
    const uint8_t *payload = request->payload;
    if (is_about_state(request)) {
        return server->config->states != NULL ? server->config->states(server, request) : ABOARD_ERROR_UNSUPPORTED;
    }
    switch (request->type) {
    case ABOARD_RPC_HELLO:
        return hello(server);
    case ABOARD_RPC_MODEL:
        return describe_model(server, payload);
    case ABOARD_RPC_WRITE:
        return write_tensor(server, payload, request->count);
    case ABOARD_RPC_READ:
        return read_tensor(server, payload);
    case ABOARD_RPC_RUN:
        return aboard_request_run(server, payload);
    case ABOARD_RPC_PROFILE:
        return read_profile(server, payload);
    case ABOARD_RPC_OP_WRITE:
    case ABOARD_RPC_OP_READ:
    case ABOARD_RPC_OP_RUN:
        return reach_workspace(server, request);
    case ABOARD_RPC_STATS:
        return read_stats(server);
    case ABOARD_RPC_FAULT:
        aboard_reply_data(server, 0, aboard_port_fault(), sizeof(aboard_fault_t));
        return ABOARD_OK;
    case ABOARD_RPC_FAULT_CLEAR:
        memset(aboard_port_fault(), 0, sizeof(aboard_fault_t));
        return ABOARD_OK;
    case ABOARD_RPC_STOP: /* no series came before */
        return ABOARD_ERROR_STATE;
    case ABOARD_RPC_BEGIN:
        return server->config->rows != NULL ? server->config->rows->begin(server, payload) : ABOARD_ERROR_UNSUPPORTED;
    default: /* RESET: server.c restarts after the reply */
        return ABOARD_OK;
    }
}
