/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, and the reply to each request. The requests are executed in requests.c. */
#include "server.h"

#include <string.h>

#include "aboard/port.h"
#include "models.h"
#include "receive.h"
#include "reply.h"
#include "requests.h"

#define MAX_TEXT 40
/* A host sends this many bytes without a pause before it knows the device. */
#define MIN_BURST 16
/* "abrd" */
#define MAGIC 0x64726261u

static const uint8_t version[2] = {ABOARD_RPC_MAJOR, ABOARD_RPC_MINOR};

static aboard_status_t check(const aboard_server_config_t *config) {
    if (config == NULL || config->models == NULL || config->frame == NULL || config->board == NULL ||
        config->build == NULL) {
        return ABOARD_ERROR_NULL;
    }
    if (config->model_count == 0 || config->frame_bytes < ABOARD_RPC_MIN_FRAME ||
        aboard_text_length(config->board, MAX_TEXT + 1) > MAX_TEXT ||
        aboard_text_length(config->build, MAX_TEXT + 1) > MAX_TEXT) {
        return ABOARD_ERROR_RANGE;
    }
    if (config->burst != 0 && config->burst < MIN_BURST) {
        return ABOARD_ERROR_RANGE;
    }
    return aboard_is_aligned(config->workspace) ? ABOARD_OK : ABOARD_ERROR_ARENA_MISALIGNED;
}

aboard_status_t aboard_server_init(aboard_server_t *server, const aboard_server_config_t *config) {
    if (server == NULL) {
        return ABOARD_ERROR_NULL;
    }
    aboard_status_t status = check(config);
    if (status != ABOARD_OK) {
        return status;
    }
    memset(server, 0, sizeof *server);
    server->config = config;
    server->shared.data = config->arena;
    server->shared.bytes = config->arena_bytes;
    for (uint8_t i = 0; i < config->model_count; ++i) {
        const aboard_model_t *model = config->models[i];
        status = aboard_check_memory(server, model);
        if (status == ABOARD_OK && model->reset != NULL) {
            status = model->reset(aboard_memory_of(server, model));
        }
        if (status != ABOARD_OK) {
            return status;
        }
    }
    server->host_max = ABOARD_RPC_MIN_FRAME;
    aboard_frame_reader_init(&server->reader, config->frame, config->frame_bytes);
    return ABOARD_OK;
}

void aboard_server_log(aboard_server_t *server, const char *text) {
    size_t count = aboard_text_length(text, aboard_payload_max(server));
    while (count != 0) {
        aboard_send_event(server, ABOARD_RPC_LOG, (const uint8_t *)text, count, NULL, 0);
        text += count;
        count = aboard_text_length(text, aboard_payload_max(server));
    }
}

/* Payload bytes of each request. The top bit: this many or more. */
#define OR_MORE 0x80u
static const uint8_t lengths[ABOARD_RPC_RESET_STATE + 1] = {
    [ABOARD_RPC_HELLO] = 8 | OR_MORE, [ABOARD_RPC_MODEL] = 1,  [ABOARD_RPC_WRITE] = 8 | OR_MORE,
    [ABOARD_RPC_READ] = 12,           [ABOARD_RPC_RUN] = 10,   [ABOARD_RPC_PROFILE] = 4,
    [ABOARD_RPC_OP_READ] = 8,         [ABOARD_RPC_OP_RUN] = 8, [ABOARD_RPC_OP_WRITE] = 4 | OR_MORE,
    [ABOARD_RPC_STATS] = 0,           [ABOARD_RPC_FAULT] = 0,  [ABOARD_RPC_FAULT_CLEAR] = 0,
    [ABOARD_RPC_RESET] = 0,           [ABOARD_RPC_BEGIN] = 6,  [ABOARD_RPC_STOP] = 0,
    [ABOARD_RPC_RESET_STATE] = 1};

static bool well_formed(const aboard_message_t *request) {
    if (request->type > ABOARD_RPC_RESET_STATE || request->code != 0) {
        return false;
    }
    const size_t length = lengths[request->type] & ~OR_MORE;
    return (lengths[request->type] & OR_MORE) != 0 ? request->count >= length : request->count == length;
}

static bool was_run(uint8_t reply_type) {
    return reply_type == (ABOARD_RPC_RUN | ABOARD_RPC_REPLY) || reply_type == (ABOARD_RPC_OP_RUN | ABOARD_RPC_REPLY);
}

static aboard_status_t make_reply(aboard_server_t *server, const aboard_message_t *request, bool sound) {
    const bool follows_run = was_run(server->reply_type);
    server->reply_type = request->type | ABOARD_RPC_REPLY;
    if (sound && request->type == ABOARD_RPC_STOP && follows_run) {
        /* The result of the series is still in the reply: the reply to RUN may have been lost. */
        return server->reply_status;
    }
    server->reply_count = 0;
    server->reply_data[0].count = 0;
    server->reply_data[1].count = 0;
    return sound ? aboard_request(server, request) : ABOARD_ERROR_MESSAGE;
}

static void execute(aboard_server_t *server, const aboard_message_t *request, bool sound) {
    const uint8_t type = request->type;
    server->stats.requests++;
    server->busy = true;
    const aboard_status_t status = make_reply(server, request, sound);
    server->busy = false;
    server->reply_status = (uint8_t)status;
    aboard_send_reply(server);
    if (type == ABOARD_RPC_RESET && status == ABOARD_OK) {
        aboard_port_reset();
        /* If the port cannot restart the device, the server restarts itself. */
        (void)aboard_server_init(server, server->config);
    }
}

/* Starts a session. Returns false if the HELLO is refused; the session before it goes on then. */
static bool greet(aboard_server_t *server, const aboard_message_t *hello, bool sound) {
    const uint8_t *payload = hello->payload;
    if (hello->session == 0 || !sound || aboard_get_u32(payload) != MAGIC) {
        aboard_send_refusal(hello, ABOARD_ERROR_MESSAGE, NULL, 0);
        return false;
    }
    if (payload[4] != ABOARD_RPC_MAJOR) {
        aboard_send_refusal(hello, ABOARD_ERROR_UNSUPPORTED, version, sizeof version);
        return false;
    }
    const uint16_t host_max = (uint16_t)aboard_get_u16(payload + 6);
    if (host_max < ABOARD_RPC_MIN_FRAME) {
        aboard_send_refusal(hello, ABOARD_ERROR_RANGE, NULL, 0);
        return false;
    }
    server->session = hello->session;
    server->host_max = host_max;
    server->inputs = 0;
    server->output_model = 0;
    server->streaming = 0;
    return true;
}

/* Executes the request that waits. During a series of runs the next one may begin to wait. */
static void answer(aboard_server_t *server) {
    const aboard_message_t request = aboard_received_message(server);
    const bool sound = well_formed(&request);
    server->waiting = false;
    /* A HELLO of the session that goes on is a repetition, which aboard_receive has settled: this one is new. */
    if (request.type == ABOARD_RPC_HELLO && !greet(server, &request, sound)) {
        return;
    }
    server->id = request.id;
    server->received_bytes = 0;
    server->credited_bytes = 0;
    execute(server, &request, sound);
}

bool aboard_server_poll(aboard_server_t *server) {
    if (!server->started) {
        server->started = true;
        aboard_send_event(server, ABOARD_RPC_READY, version, sizeof version, NULL, 0);
    }
    const bool came = aboard_receive(server);
    while (server->waiting) {
        answer(server);
    }
    return came;
}
