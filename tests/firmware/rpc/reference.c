/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <string.h>

#include "rpc/messages.h"

#define NOBODY (-1)

static const aboard_server_config_t *config;
static uint32_t session;
static uint16_t id;
static uint8_t last_type;
static uint8_t last_status;
static size_t last_count;
static uint16_t host_max;
static int written_model, output_model, streaming;
static uint32_t written;
static uint8_t stream_flags;
static uint64_t streamed;
static uint8_t copy[REFERENCE_MEMORY], workspace[REFERENCE_MEMORY];
static bool workspace_known[REFERENCE_MEMORY], copy_known[REFERENCE_MEMORY];
static bool restarted;
/* The state block of the keeper, as far as no run has changed it. */
static uint8_t kept[6];
static bool kept_known[6];

static uint32_t u16(const uint8_t *data) {
    return (uint32_t)(data[0] | data[1] << 8);
}

static uint32_t u32(const uint8_t *data) {
    return u16(data) | u16(data + 2) << 16;
}

static void reset_kept(void) {
    memcpy(kept, "\1\2\3\4\0\0", sizeof kept);
    memset(kept_known, 1, sizeof kept_known);
}

void reference_start(const aboard_server_config_t *of) {
    config = of;
    session = 0;
    id = 0;
    last_type = 0;
    host_max = ABOARD_RPC_MIN_FRAME;
    /* The server's zero: model 0, of which nothing is written. */
    written_model = 0;
    output_model = streaming = NOBODY;
    written = 0;
    restarted = false;
    memset(workspace_known, 0, sizeof workspace_known);
    memset(copy_known, 0, sizeof copy_known);
    reset_kept();
}

bool reference_has_restarted(void) {
    return restarted;
}

uint32_t reference_session(void) {
    return session;
}

uint16_t reference_id(void) {
    return id;
}

uint32_t reference_streamed(void) {
    return streaming == NOBODY ? 0 : (uint32_t)streamed;
}

static const aboard_model_t *model_of(uint8_t number) {
    return number < config->model_count ? config->models[number] : NULL;
}

static uint64_t inputs_before(const aboard_model_t *model, uint8_t index) {
    uint64_t bytes = 0;
    for (uint8_t i = 0; i < index; ++i) {
        bytes += model->inputs[i].bytes;
    }
    return bytes;
}

static bool is_copied(const aboard_model_t *model) {
    return config->input_copy != NULL && !model->inputs_kept && model->stream == NULL &&
           inputs_before(model, model->input_count) <= config->input_copy_bytes;
}

static uint64_t room(void) {
    return (uint64_t)(host_max < config->frame_bytes ? host_max : config->frame_bytes) - 12;
}

static bool shares_arena(void) {
    for (uint8_t m = 0; m < config->model_count; ++m) {
        const bool own = config->memory != NULL && config->memory[m] != NULL;
        const uint8_t arenas = own && config->models[m]->arena_count != 0 ? config->models[m]->arena_count : 1;
        for (uint8_t a = 0; a < arenas; ++a) {
            const uint8_t *const data = own ? config->memory[m][a].data : config->arena;
            const size_t bytes = own ? config->memory[m][a].bytes : config->arena_bytes;
            if (config->workspace < data + bytes && data < config->workspace + config->workspace_bytes) {
                return true;
            }
        }
    }
    return false;
}

static uint8_t write_rows(const aboard_model_t *model, const uint8_t *payload, uint64_t count) {
    const uint64_t row = model->stream->row_bytes;
    const uint64_t left = row - streamed % row;
    if (streaming != payload[0]) {
        return ABOARD_ERROR_STATE;
    }
    if (u32(payload + 4) != streamed || streamed + count > row * model->stream->rows ||
        ((stream_flags & ABOARD_RPC_RUN_TRACE) != 0 && count > left)) {
        return ABOARD_ERROR_RANGE;
    }
    /* A row that begins with 255 fails; those before it are taken. */
    for (uint64_t i = 0; i < count; ++i) {
        static uint8_t first;
        first = (streamed + i) % row == 0 ? payload[8 + i] : first;
        if ((streamed + i) % row == row - 1 && first == 255) {
            streaming = NOBODY;
            return ABOARD_ERROR_DEVICE;
        }
    }
    streamed += count;
    return ABOARD_OK;
}

static uint8_t write_input(const uint8_t *payload, uint64_t count) {
    const aboard_model_t *model = model_of(payload[0]);
    if (model == NULL || payload[1] != 0 || payload[2] >= model->input_count) {
        return ABOARD_ERROR_INDEX;
    }
    if (model->stream != NULL) {
        return write_rows(model, payload, count);
    }
    const uint64_t offset = u32(payload + 4);
    if (offset + count > model->inputs[payload[2]].bytes) {
        return ABOARD_ERROR_RANGE;
    }
    if (is_copied(model)) {
        const uint64_t at = inputs_before(model, payload[2]) + offset;
        memcpy(copy + at, payload + 8, (size_t)count);
        memset(copy_known + at, 1, (size_t)count);
    } else {
        output_model = NOBODY;
    }
    streaming = NOBODY;
    written = (written_model == payload[0] ? written : 0) | 1u << payload[2];
    written_model = payload[0];
    return ABOARD_OK;
}

/* Fills in the bytes of [at, at + count) where all of them are known. */
static void fill_in(reference_reply_t *reply, const uint8_t *data, const bool *known, uint64_t at) {
    for (uint64_t i = 0; i < reply->count; ++i) {
        if (!known[at + i]) {
            return;
        }
        reply->data[i] = data[at + i];
    }
    reply->is_known = true;
}

static uint8_t read_tensor(const uint8_t *payload, reference_reply_t *reply) {
    const aboard_model_t *model = model_of(payload[0]);
    const bool is_input = payload[1] == 0;
    if (model == NULL || payload[1] > 1 || payload[2] >= (is_input ? model->input_count : model->output_count)) {
        return ABOARD_ERROR_INDEX;
    }
    if (is_input && model->stream != NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (!is_input && output_model != payload[0]) {
        return ABOARD_ERROR_STATE;
    }
    const uint64_t offset = u32(payload + 4), count = u32(payload + 8);
    if (offset + count > (is_input ? model->inputs : model->outputs)[payload[2]].bytes || count > room()) {
        return ABOARD_ERROR_RANGE;
    }
    reply->count = (size_t)count;
    if (is_input && is_copied(model)) {
        fill_in(reply, copy, copy_known, inputs_before(model, payload[2]) + offset);
    }
    return ABOARD_OK;
}

static uint8_t reset_state(const aboard_model_t *model) {
    if (model->state_count == 0) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    streaming = NOBODY;
    if (model->state_bytes != 0) {
        reset_kept();
    }
    return ABOARD_OK;
}

static uint8_t use_state(uint8_t type, const uint8_t *payload, uint64_t count, reference_reply_t *reply) {
    const aboard_model_t *model = model_of(payload[0]);
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    if (type != ABOARD_RPC_RESET_STATE) {
        if (payload[2] >= model->state_count) {
            return ABOARD_ERROR_INDEX;
        }
        if (streaming == payload[0]) {
            return ABOARD_ERROR_STATE;
        }
        const uint64_t offset = u32(payload + 4), at = model->states[payload[2]].offset + offset;
        count = type == ABOARD_RPC_READ ? u32(payload + 8) : count;
        if (offset + count > model->states[payload[2]].bytes || (type == ABOARD_RPC_READ && count > room())) {
            return ABOARD_ERROR_RANGE;
        }
        if (type == ABOARD_RPC_READ) {
            reply->count = (size_t)count;
            if (model->state_bytes != 0) {
                fill_in(reply, kept, kept_known, at);
            }
            return ABOARD_OK;
        }
        if (model->state_bytes != 0) {
            memcpy(kept + at, payload + 8, (size_t)count);
            memset(kept_known + at, 1, (size_t)count);
        }
    } else if (reset_state(model) != ABOARD_OK) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    output_model = output_model == payload[0] ? NOBODY : output_model;
    return ABOARD_OK;
}

static uint8_t check_flags(uint8_t flags) {
    const bool profiles = (config->features & ABOARD_FEATURE_PROFILE) != 0 && config->node_ticks != NULL;
    const bool traces = (config->features & ABOARD_FEATURE_TRACE) != 0;
    if (flags > 3) {
        return ABOARD_ERROR_RANGE;
    }
    return ((flags & 1) != 0 && !profiles) || ((flags & 2) != 0 && !traces) ? ABOARD_ERROR_UNSUPPORTED : ABOARD_OK;
}

static uint8_t run(const uint8_t *payload, reference_reply_t *reply) {
    const aboard_model_t *model = model_of(payload[0]);
    const uint8_t flags = payload[1];
    reply->runs = u32(payload + 2);
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    if (reply->runs == 0 || ((flags & 2) != 0 && reply->runs != 1)) {
        return ABOARD_ERROR_RANGE;
    }
    if (check_flags(flags) != ABOARD_OK) {
        return check_flags(flags);
    }
    const bool survives = model->inputs_kept || is_copied(model);
    if (reply->runs > 1 && !survives) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    const uint32_t all = (1u << model->input_count) - 1;
    if (model->stream != NULL ? streaming != payload[0] || stream_flags != flags
                              : written_model != payload[0] || (written & all) != all) {
        return ABOARD_ERROR_STATE;
    }
    const bool complete = model->stream == NULL || streamed == (uint64_t)model->stream->rows * model->stream->row_bytes;
    written = survives ? written : 0;
    streaming = NOBODY;
    output_model = complete ? payload[0] : NOBODY;
    if (model->state_bytes != 0) {
        memset(kept_known, 0, sizeof kept_known);
    }
    reply->count = 36;
    return complete ? ABOARD_OK : ABOARD_ERROR_STATE;
}

static uint8_t begin(const uint8_t *payload) {
    const aboard_model_t *model = model_of(payload[0]);
    if (config->rows == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    if (model->stream == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (check_flags(payload[1]) == ABOARD_OK) {
        output_model = NOBODY;
        written = 0;
        streaming = payload[0];
        stream_flags = payload[1];
        streamed = 0;
    }
    return check_flags(payload[1]);
}

static uint8_t run_node(const uint8_t *payload, reference_reply_t *reply) {
    const aboard_model_t *model = model_of(payload[0]);
    reply->runs = u32(payload + 4);
    if (model == NULL || u16(payload + 2) >= model->nodes) {
        return ABOARD_ERROR_INDEX;
    }
    if (model->run_op == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (reply->runs == 0) {
        return ABOARD_ERROR_RANGE;
    }
    memset(workspace_known, 0, sizeof workspace_known);
    reply->count = 36;
    return config->workspace_bytes < model->op_bytes ? ABOARD_ERROR_ARENA_TOO_SMALL : ABOARD_OK;
}

static uint8_t use_workspace(uint8_t type, const uint8_t *payload, uint64_t count, reference_reply_t *reply) {
    const uint64_t bytes = config->workspace_bytes, offset = u32(payload);
    if (config->workspace == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (type == ABOARD_RPC_OP_READ) {
        const uint64_t length = u32(payload + 4);
        if (offset + length > bytes || length > room()) {
            return ABOARD_ERROR_RANGE;
        }
        reply->count = (size_t)length;
        if (!shares_arena()) {
            fill_in(reply, workspace, workspace_known, offset);
        }
        return ABOARD_OK;
    }
    if (shares_arena()) {
        output_model = streaming = NOBODY;
        written = 0;
    }
    if (type == ABOARD_RPC_OP_RUN) {
        return run_node(payload, reply);
    }
    if (offset + count > bytes) {
        return ABOARD_ERROR_RANGE;
    }
    memcpy(workspace + offset, payload + 4, (size_t)count);
    memset(workspace_known + offset, 1, (size_t)count);
    return ABOARD_OK;
}

static uint8_t read_profile(const uint8_t *payload, reference_reply_t *reply) {
    const uint64_t first = u16(payload), count = u16(payload + 2);
    if (config->node_ticks == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    reply->count = (size_t)(8 * count);
    return first + count > config->node_ticks_count || 8 * count > room() ? ABOARD_ERROR_RANGE : ABOARD_OK;
}

static uint8_t describe(const uint8_t *payload, reference_reply_t *reply) {
    const aboard_model_t *model = model_of(payload[0]);
    reply->count = model == NULL ? 0 : 47 + strlen(model->name);
    return model == NULL ? ABOARD_ERROR_INDEX : ABOARD_OK;
}

/* Bytes of the payload of each request; from 100 on, so many less 100 or more. */
static bool is_sound(uint8_t type, uint8_t code, size_t count) {
    static const uint8_t sizes[] = {0, 108, 1, 108, 12, 10, 4, 104, 8, 8, 0, 0, 0, 0, 6, 0, 1};
    if (code != 0 || type >= sizeof sizes) {
        return false;
    }
    return sizes[type] < 100 ? count == sizes[type] : count + 100 >= sizes[type];
}

static uint8_t work(uint8_t type, const uint8_t *payload, size_t count, reference_reply_t *reply) {
    if (type == ABOARD_RPC_RESET_STATE ||
        ((type == ABOARD_RPC_WRITE || type == ABOARD_RPC_READ) && payload[1] == ABOARD_RPC_STATE)) {
        return config->states == NULL ? ABOARD_ERROR_UNSUPPORTED : use_state(type, payload, count - 8, reply);
    }
    switch (type) {
    case ABOARD_RPC_HELLO:
        reply->count = 34 + strlen(config->board) + strlen(config->build);
        return ABOARD_OK;
    case ABOARD_RPC_MODEL:
        return describe(payload, reply);
    case ABOARD_RPC_WRITE:
        return write_input(payload, count - 8);
    case ABOARD_RPC_READ:
        return read_tensor(payload, reply);
    case ABOARD_RPC_RUN:
        return run(payload, reply);
    case ABOARD_RPC_PROFILE:
        return read_profile(payload, reply);
    case ABOARD_RPC_OP_WRITE:
        return use_workspace(type, payload, count - 4, reply);
    case ABOARD_RPC_OP_READ:
    case ABOARD_RPC_OP_RUN:
        return use_workspace(type, payload, 0, reply);
    case ABOARD_RPC_STATS:
        reply->count = 24;
        return ABOARD_OK;
    case ABOARD_RPC_FAULT:
        reply->count = 76;
        return ABOARD_OK;
    case ABOARD_RPC_BEGIN:
        return begin(payload);
    case ABOARD_RPC_STOP:
        reply->count = last_count;
        return last_type == ABOARD_RPC_RUN || last_type == ABOARD_RPC_OP_RUN ? last_status : ABOARD_ERROR_STATE;
    default:
        return ABOARD_OK;
    }
}

/* A HELLO that begins a session. True when it does. */
static bool greet(const uint8_t *message, size_t count, reference_reply_t *reply) {
    const uint8_t *payload = message + 8;
    if (reply->session == 0 || !is_sound(ABOARD_RPC_HELLO, message[1], count) || memcmp(payload, "abrd", 4) != 0) {
        reply->status = ABOARD_ERROR_MESSAGE;
    } else if (payload[4] != ABOARD_RPC_MAJOR) {
        reply->status = ABOARD_ERROR_UNSUPPORTED;
        reply->count = 2;
    } else if (u16(payload + 6) < ABOARD_RPC_MIN_FRAME) {
        reply->status = ABOARD_ERROR_RANGE;
    } else {
        session = reply->session;
        host_max = (uint16_t)u16(payload + 6);
        written = 0;
        output_model = streaming = NOBODY;
        return true;
    }
    return false;
}

bool reference_take(const uint8_t *message, size_t count, reference_reply_t *reply) {
    if (count < 8 || message[0] == 0 || message[0] >= 0x40) {
        return false;
    }
    const uint8_t type = message[0];
    *reply = (reference_reply_t){.type = type, .id = (uint16_t)u16(message + 2), .session = u32(message + 4)};
    const uint16_t ahead = (uint16_t)(reply->id - id);
    if (reply->session != session || session == 0) {
        if (type != ABOARD_RPC_HELLO) {
            reply->status = ABOARD_ERROR_SESSION;
            return true;
        }
        if (!greet(message, count - 8, reply)) {
            return true;
        }
    } else if (ahead == 0 && type == last_type) {
        reply->status = last_status;
        reply->count = last_count;
        reply->is_repeated = true;
        reply->is_optional = type == ABOARD_RPC_RUN || type == ABOARD_RPC_OP_RUN;
        return true;
    } else if (type == ABOARD_RPC_HELLO || ahead == 0 || ahead >= 0x8000) {
        return false;
    }
    id = reply->id;
    reply->is_remembered = true;
    reply->status = is_sound(type, message[1], count - 8) ? work(type, message + 8, count - 8, reply)
                                                          : (uint8_t)ABOARD_ERROR_MESSAGE;
    reply->count = reply->status == ABOARD_OK ? reply->count : 0;
    last_type = type;
    last_status = reply->status;
    last_count = reply->count;
    restarted = type == ABOARD_RPC_RESET && reply->status == ABOARD_OK;
    return true;
}
