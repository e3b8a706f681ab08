/* SPDX-License-Identifier: Apache-2.0 */
#include "rows.h"

#include <string.h>

#include "aboard/config.h"
#include "models.h"
#include "reply.h"
#include "run.h"

static aboard_status_t begin(aboard_server_t *server, const uint8_t *payload) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const uint8_t flags = payload[1];
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    if (model->stream == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    aboard_status_t status = aboard_check_flags(server, flags);
    if (status == ABOARD_OK) {
        server->output_model = 0;
        server->inputs = 0;
        server->streaming = 0;
        status = model->stream->begin(aboard_memory_of(server, model));
    }
    if (status != ABOARD_OK) {
        return status;
    }
    if ((flags & ABOARD_RPC_RUN_PROFILE) != 0) {
        aboard_clear_profile(server);
    }
    server->streaming = (uint8_t)(payload[0] + 1);
    server->stream_flags = flags;
    server->streamed = 0;
    server->stream_stack = 0;
    server->stream_ticks = 0;
    server->trace_sequence = 0;
    server->trace_first = (uint16_t)aboard_get_u16(payload + 2);
    server->trace_last = (uint16_t)aboard_get_u16(payload + 4);
    return ABOARD_OK;
}

static aboard_status_t push(aboard_server_t *server, const aboard_job_t *job) {
    uint64_t ticks;
    uint32_t stack;
    const aboard_status_t status = aboard_run_once(server, job, &ticks, &stack);
    server->stream_ticks += ticks;
    server->stream_stack = ABOARD_MAX(server->stream_stack, stack);
    return status;
}

static aboard_status_t write_rows(aboard_server_t *server, const uint8_t *payload, size_t count) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const aboard_stream_t *stream = model->stream;
    const uint32_t missing = stream->rows * stream->row_bytes - server->streamed;
    uint32_t room = stream->row_bytes - server->streamed % stream->row_bytes;
    if (server->streaming != payload[0] + 1) {
        return ABOARD_ERROR_STATE;
    }
    /* A trace gathers rows in the frame buffer, over whatever data of this message follows the row. */
    const bool fits = (server->stream_flags & ABOARD_RPC_RUN_TRACE) == 0 || count <= room;
    if (aboard_get_u32(payload + 4) != server->streamed || count > missing || !fits) {
        return ABOARD_ERROR_RANGE;
    }
    if (count >= room) {
        aboard_send_signal(server, ABOARD_RPC_ACCEPTED);
    }
    aboard_hooks_t hooks;
    aboard_job_t job = {model, aboard_fill_hooks(server, server->stream_flags, &hooks), NULL, false, 0};
    const uint8_t *data = payload + 8;
    aboard_status_t status = ABOARD_OK;
    while (count != 0 && status == ABOARD_OK) {
        uint8_t *const row = stream->slot(aboard_memory_of(server, model));
        const size_t part = ABOARD_MIN(count, room);
        memcpy(row + stream->row_bytes - room, data, part);
        data += part;
        count -= part;
        server->streamed += (uint32_t)part;
        room -= (uint32_t)part;
        if (room == 0) {
            job.row = row;
            status = push(server, &job);
            room = stream->row_bytes;
        }
    }
    server->streaming = status == ABOARD_OK ? server->streaming : 0;
    return status;
}

const aboard_server_rows_t aboard_server_rows = {.begin = begin, .write = write_rows};
