/* SPDX-License-Identifier: Apache-2.0 */
/* BEGIN, and WRITE to an input that is taken row by row: every row is pushed as soon as its last byte is there. */
#include <string.h>

#include "requests.h"

static aboard_status_t begin(aboard_server_t *server, const uint8_t *payload) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const uint8_t flags = payload[1];
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    if (model->feed == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    aboard_status_t status = aboard_check_flags(server, flags);
    if (status == ABOARD_OK) {
        server->output_model = 0;
        server->inputs = 0;
        server->feeding = 0;
        status = model->feed->begin(aboard_memory_of(server, model));
    }
    if (status != ABOARD_OK) {
        return status;
    }
    if ((flags & ABOARD_RPC_RUN_PROFILE) != 0) {
        aboard_clear_profile(server);
    }
    server->feeding = (uint8_t)(payload[0] + 1);
    server->feed_flags = flags;
    server->fed = 0;
    server->feed_stack = 0;
    server->feed_ticks = 0;
    server->tap_sequence = 0;
    server->tap_first = (uint16_t)aboard_get_u16(payload + 2);
    server->tap_last = (uint16_t)aboard_get_u16(payload + 4);
    return ABOARD_OK;
}

static aboard_status_t push(aboard_server_t *server, const aboard_job_t *job) {
    uint64_t ticks;
    uint32_t stack;
    const aboard_status_t status = aboard_run_once(server, job, &ticks, &stack);
    server->feed_ticks += ticks;
    server->feed_stack = ABOARD_MAX(server->feed_stack, stack);
    return status;
}

static aboard_status_t write_rows(aboard_server_t *server, const uint8_t *payload, size_t count) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const aboard_feed_t *feed = model->feed;
    const uint32_t missing = feed->rows * feed->row_bytes - server->fed;
    uint32_t room = feed->row_bytes - server->fed % feed->row_bytes;
    if (server->feeding != payload[0] + 1) {
        return ABOARD_ERROR_STATE;
    }
    /* Taps are gathered in the frame buffer, where the rest of the data would lie. */
    const bool fits = (server->feed_flags & ABOARD_RPC_RUN_TAPS) == 0 || count <= room;
    if (aboard_get_u32(payload + 4) != server->fed || count > missing || !fits) {
        return ABOARD_ERROR_RANGE;
    }
    if (count >= room) {
        aboard_signal(server, ABOARD_RPC_ACCEPTED);
    }
    aboard_hooks_t hooks;
    aboard_job_t job = {model, aboard_fill_hooks(server, server->feed_flags, &hooks), NULL, false, 0};
    const uint8_t *data = payload + 8;
    aboard_status_t status = ABOARD_OK;
    while (count != 0 && status == ABOARD_OK) {
        uint8_t *const row = feed->slot(aboard_memory_of(server, model));
        const size_t part = ABOARD_MIN(count, room);
        memcpy(row + feed->row_bytes - room, data, part);
        data += part;
        count -= part;
        server->fed += (uint32_t)part;
        room -= (uint32_t)part;
        if (room == 0) {
            job.row = row;
            status = push(server, &job);
            room = feed->row_bytes;
        }
    }
    server->feeding = status == ABOARD_OK ? server->feeding : 0;
    return status;
}

const aboard_server_rows_t aboard_server_rows = {.begin = begin, .write = write_rows};
