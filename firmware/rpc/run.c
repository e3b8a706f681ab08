/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <string.h>

#include "aboard/config.h"
#include "aboard/port.h"
#include "models.h"
#include "receive.h"
#include "reply.h"

/* The result of a series of runs. The reply has `runs` first, and then the other fields as they are in memory. */
typedef struct {
    uint64_t fewest;
    uint64_t most;
    uint64_t total;
    uint32_t stack;
    uint32_t trace_events;
    uint32_t runs;
} series_t;
#define REPLIED_BYTES offsetof(series_t, runs)

#ifndef ABOARD_MARKS
#define ABOARD_MARKS 0
#endif

/* Calls the mark of the configuration, if it is for this part of a run; no code without ABOARD_MARKS. */
static void mark(const aboard_server_config_t *config, bool of_node, bool begins) {
    if (ABOARD_MARKS && config->mark != NULL && config->marks_nodes == of_node) {
        config->mark(begins);
    }
}

static aboard_status_t enter_node(void *user, uint16_t node) {
    const aboard_server_t *server = user;
    (void)node;
    if (server->config->yield != NULL) {
        server->config->yield();
    }
    mark(server->config, true, true);
    return ABOARD_OK;
}

static aboard_status_t leave_node(void *user, uint16_t node) {
    const aboard_server_t *server = user;
    (void)node;
    mark(server->config, true, false);
    return ABOARD_OK;
}

static aboard_status_t begin_node(void *user, uint16_t node) {
    aboard_server_t *server = user;
    (void)enter_node(user, node);
    server->node_start = aboard_port_ticks();
    return ABOARD_OK;
}

static aboard_status_t end_node(void *user, uint16_t node) {
    const uint64_t now = aboard_port_ticks();
    aboard_server_t *server = user;
    if (node < server->config->node_ticks_count) {
        server->config->node_ticks[node] += now - server->node_start;
    }
    return leave_node(user, node);
}

/* Copies `count` bytes of a row from byte `offset` on, both counted without the gaps between pixels. */
static void gather(uint8_t *to, const aboard_trace_t *trace, const uint8_t *row, uint32_t offset, uint32_t count) {
    const uint32_t pixel_bytes = (uint32_t)trace->channels * trace->element_bytes;
    uint32_t byte = offset % pixel_bytes;
    const uint8_t *pixel = row + (int32_t)(offset / pixel_bytes) * trace->pixel_stride;
    for (uint32_t i = 0; i < count; ++i) {
        to[i] = pixel[byte++];
        if (byte == pixel_bytes) {
            byte = 0;
            pixel += trace->pixel_stride;
        }
    }
}

/* Sends a row in as many events as it needs. Nothing is received during a run, so the frame buffer is free. */
static void send_row(aboard_server_t *server, const aboard_trace_t *trace, uint32_t r) {
    const uint8_t *row = trace->data + (int32_t)r * trace->row_stride;
    const uint32_t row_bytes = (uint32_t)trace->cols * trace->channels * trace->element_bytes;
    const uint32_t room = (uint32_t)aboard_payload_max(server) - ABOARD_RPC_TRACE_BYTES;
    for (uint32_t offset = 0; offset < row_bytes; offset += room) {
        const uint32_t count = ABOARD_MIN(room, row_bytes - offset);
        const uint32_t head[ABOARD_RPC_TRACE_BYTES / sizeof(uint32_t)] = {
            server->trace_sequence++, (uint32_t)trace->node | (uint32_t)trace->output << 16, trace->first + r, offset,
            row_bytes};
        gather(server->config->frame, trace, row, offset, count);
        aboard_send_event(server, ABOARD_RPC_TRACE, (const uint8_t *)head, sizeof head, server->config->frame, count);
    }
}

static aboard_status_t trace_rows(void *user, const aboard_trace_t *trace) {
    aboard_server_t *server = user;
    if (trace->node < server->trace_first || trace->node >= server->trace_last) {
        return ABOARD_OK;
    }
    for (uint32_t r = 0; r < trace->rows; ++r) {
        send_row(server, trace, r);
    }
    return ABOARD_OK;
}

static void restore_inputs(const aboard_server_t *server, const aboard_model_t *model) {
    const aboard_memory_t *memory = aboard_memory_of(server, model);
    const uint8_t *from = server->config->input_copy;
    for (uint8_t i = 0; i < model->input_count; ++i) {
        const aboard_tensor_t *input = &model->inputs[i];
        memcpy(memory[input->arena].data + input->offset, from, input->bytes);
        from += model->inputs[i].bytes;
    }
}

static aboard_status_t run_job(const aboard_server_config_t *config, const aboard_job_t *job,
                               const aboard_memory_t *memory) {
    if (job->one_node) {
        return job->model->run_op(job->node, config->workspace, config->workspace_bytes);
    }
    if (job->row != NULL) {
        return job->model->stream->push(memory, job->row, job->hooks);
    }
    return job->model->run_in != NULL ? job->model->run_in(memory, job->hooks)
                                      : job->model->run(memory->data, memory->bytes, job->hooks);
}

/* Not inlined: the stack is marked below this frame, which must hold nothing of its callers. */
ABOARD_NOINLINE aboard_status_t aboard_run_once(const aboard_server_t *server, const aboard_job_t *job, uint64_t *ticks,
                                                uint32_t *stack) {
    const aboard_memory_t *memory = aboard_memory_of(server, job->model);
    if (stack != NULL) {
        aboard_port_stack_mark();
    }
    /* A single node has no hooks, so that its run is the step. */
    const bool is_step = job->one_node && server->config->marks_nodes;
    mark(server->config, is_step, true);
    aboard_port_ticks_align();
    const uint64_t start = aboard_port_ticks();
    const aboard_status_t status = run_job(server->config, job, memory);
    *ticks = aboard_port_ticks() - start;
    mark(server->config, is_step, false);
    if (stack != NULL) {
        *stack = aboard_port_stack_used();
    }
    return status;
}

/* Runs `count` times, or until the next request waits. */
static aboard_status_t run_series(aboard_server_t *server, const aboard_job_t *job, uint32_t count, series_t *series) {
    uint64_t reported_at = aboard_port_ticks();
    while (series->runs < count && !server->waiting) {
        const bool is_first = series->runs == 0;
        uint64_t ticks;
        if (!job->one_node && aboard_uses_copy(server, job->model)) {
            restore_inputs(server, job->model);
        }
        const aboard_status_t status = aboard_run_once(server, job, &ticks, is_first ? &series->stack : NULL);
        if (status != ABOARD_OK) {
            return status;
        }
        series->runs++;
        series->fewest = is_first ? ticks : ABOARD_MIN(series->fewest, ticks);
        series->most = ABOARD_MAX(series->most, ticks);
        series->total += ticks;
        if (series->runs < count) {
            (void)aboard_receive(server);
        }
        if (aboard_port_ticks() - reported_at >= aboard_port_tick_hz()) {
            aboard_send_event(server, ABOARD_RPC_PROGRESS, (const uint8_t *)&series->runs, sizeof series->runs, NULL,
                              0);
            reported_at = aboard_port_ticks();
        }
    }
    return ABOARD_OK;
}

static aboard_status_t run_and_reply(aboard_server_t *server, const aboard_job_t *job, uint32_t count) {
    series_t series = {0, 0, 0, 0, 0, 0};
    aboard_send_signal(server, ABOARD_RPC_ACCEPTED);
    const aboard_status_t status = run_series(server, job, count, &series);
    if (!job->one_node && job->model->stream != NULL) {
        /* Ticks and stack of the streamed rows belong to the run. */
        series.fewest += server->stream_ticks;
        series.most += server->stream_ticks;
        series.total += server->stream_ticks;
        series.stack = ABOARD_MAX(series.stack, server->stream_stack);
    }
    if (status == ABOARD_OK) {
        series.trace_events = server->trace_sequence;
        memcpy(server->reply, &series.runs, 4);
        memcpy(server->reply + 4, &series, REPLIED_BYTES);
        server->reply_count = 4 + REPLIED_BYTES;
    }
    return status;
}

aboard_status_t aboard_check_flags(const aboard_server_t *server, uint8_t flags) {
    const aboard_server_config_t *config = server->config;
    if ((flags & ~(ABOARD_RPC_RUN_PROFILE | ABOARD_RPC_RUN_TRACE)) != 0) {
        return ABOARD_ERROR_RANGE;
    }
    const bool can_profile = (config->features & ABOARD_FEATURE_PROFILE) != 0 && config->node_ticks != NULL;
    const bool can_trace = (config->features & ABOARD_FEATURE_TRACE) != 0;
    const bool can =
        ((flags & ABOARD_RPC_RUN_PROFILE) == 0 || can_profile) && ((flags & ABOARD_RPC_RUN_TRACE) == 0 || can_trace);
    return can ? ABOARD_OK : ABOARD_ERROR_UNSUPPORTED;
}

void aboard_clear_profile(const aboard_server_t *server) {
    memset(server->config->node_ticks, 0, server->config->node_ticks_count * sizeof(uint64_t));
}

const aboard_hooks_t *aboard_fill_hooks(aboard_server_t *server, uint8_t flags, aboard_hooks_t *hooks) {
    const bool marks = ABOARD_MARKS && server->config->mark != NULL && server->config->marks_nodes;
    const bool enters = marks || server->config->yield != NULL;
    const bool profiles = (flags & ABOARD_RPC_RUN_PROFILE) != 0;
    hooks->user = server;
    hooks->begin = profiles ? begin_node : enters ? enter_node : NULL;
    hooks->end = profiles ? end_node : marks ? leave_node : NULL;
    hooks->trace = (flags & ABOARD_RPC_RUN_TRACE) != 0 ? trace_rows : NULL;
    return flags != 0 || enters ? hooks : NULL;
}

static bool inputs_written(const aboard_server_t *server, const aboard_model_t *model, uint8_t number) {
    const uint32_t all = model->input_count >= 32 ? ~(uint32_t)0 : ((uint32_t)1 << model->input_count) - 1u;
    return server->input_model == number && (server->inputs & all) == all;
}

/* Returns true if the model can run: its inputs were written, or BEGIN with the same flags has started its stream. */
static bool is_ready(const aboard_server_t *server, const aboard_model_t *model, uint8_t number, uint8_t flags) {
    if (model->stream != NULL) {
        return server->streaming == number + 1 && server->stream_flags == flags;
    }
    return inputs_written(server, model, number);
}

aboard_status_t aboard_request_run(aboard_server_t *server, const uint8_t *payload) {
    /* Read first: the next request overwrites the payload. */
    const uint8_t number = payload[0];
    const aboard_model_t *model = aboard_find_model(server, number);
    const uint8_t flags = payload[1];
    const uint32_t count = aboard_get_u32(payload + 2);
    if (model == NULL) {
        return ABOARD_ERROR_INDEX;
    }
    if (count == 0 || ((flags & ABOARD_RPC_RUN_TRACE) != 0 && count != 1)) {
        return ABOARD_ERROR_RANGE;
    }
    const bool survive = model->inputs_kept || aboard_uses_copy(server, model);
    aboard_status_t status = aboard_check_flags(server, flags);
    if (status == ABOARD_OK && count > 1 && !survive) {
        status = ABOARD_ERROR_UNSUPPORTED;
    }
    if (status == ABOARD_OK && !is_ready(server, model, number, flags)) {
        status = ABOARD_ERROR_STATE;
    }
    if (status != ABOARD_OK) {
        return status;
    }
    aboard_hooks_t hooks;
    const aboard_job_t job = {model, aboard_fill_hooks(server, flags, &hooks), NULL, false, 0};
    if (model->stream == NULL) {
        server->trace_sequence = 0;
        server->trace_first = (uint16_t)aboard_get_u16(payload + 6);
        server->trace_last = (uint16_t)aboard_get_u16(payload + 8);
        if ((flags & ABOARD_RPC_RUN_PROFILE) != 0) {
            aboard_clear_profile(server);
        }
    }
    server->output_model = 0;
    server->inputs = survive ? server->inputs : 0;
    status = run_and_reply(server, &job, count);
    server->streaming = 0;
    server->output_model = status == ABOARD_OK ? (uint8_t)(number + 1) : 0;
    return status;
}

aboard_status_t aboard_request_op_run(aboard_server_t *server, const uint8_t *payload) {
    const aboard_model_t *model = aboard_find_model(server, payload[0]);
    const uint32_t count = aboard_get_u32(payload + 4);
    const aboard_job_t job = {model, NULL, NULL, true, (uint16_t)aboard_get_u16(payload + 2)};
    if (model == NULL || job.node >= model->nodes) {
        return ABOARD_ERROR_INDEX;
    }
    if (model->run_op == NULL) {
        return ABOARD_ERROR_UNSUPPORTED;
    }
    if (count == 0) {
        return ABOARD_ERROR_RANGE;
    }
    server->trace_sequence = 0;
    return run_and_reply(server, &job, count);
}
