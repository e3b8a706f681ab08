/* SPDX-License-Identifier: Apache-2.0 */
/* Frames in, replies out, sessions and the at-most-once rule. What the requests do is in requests.c and run.c. */
#include "server.h"

#include <string.h>

#include "aboard/port.h"
#include "requests.h"

/* A request whose number is this far or farther ahead of the last one is behind it: numbers wrap. */
#define HALF_OF_IDS 0x8000u
#define MAX_TEXT 40
/* A host that does not know the device yet sends so many bytes without a pause. */
#define MIN_BURST 16
/* "abrd" */
#define MAGIC 0x64726261u

static bool aligned(const void *memory) {
    return ((uintptr_t)memory & (ABOARD_ARENA_ALIGN - 1u)) == 0;
}

static aboard_status_t check_arenas(const aboard_server_t *server, const aboard_model_t *model) {
    const aboard_memory_t *memory = aboard_memory_of(server, model);
    const aboard_arena_t whole = {NULL, model->arena_bytes};
    const aboard_arena_t *need = model->arena_count != 0 ? model->arenas : &whole;
    if (model->feed != NULL && server->config->rows == NULL) {
        return ABOARD_ERROR_NULL;
    }
    for (uint8_t i = 0; i < ABOARD_MAX(model->arena_count, 1); ++i) {
        if (memory == NULL || memory[i].data == NULL) {
            return ABOARD_ERROR_NULL;
        }
        if (!aligned(memory[i].data)) {
            return ABOARD_ERROR_ARENA_MISALIGNED;
        }
        if (memory[i].bytes < need[i].bytes) {
            return ABOARD_ERROR_ARENA_TOO_SMALL;
        }
    }
    return ABOARD_OK;
}

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
    return aligned(config->workspace) ? ABOARD_OK : ABOARD_ERROR_ARENA_MISALIGNED;
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
        status = check_arenas(server, config->models[i]);
        if (status != ABOARD_OK) {
            return status;
        }
    }
    server->host_max = ABOARD_RPC_MIN_FRAME;
    aboard_frame_reader_init(&server->reader, config->frame, config->frame_bytes);
    return ABOARD_OK;
}

size_t aboard_text_length(const char *text, size_t limit) {
    size_t count = 0;
    while (count < limit && text[count] != 0) {
        count++;
    }
    return count;
}

uint32_t aboard_get_u16(const uint8_t *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

uint32_t aboard_get_u32(const uint8_t *data) {
    return aboard_get_u16(data) | aboard_get_u16(data + 2) << 16;
}

void aboard_put_u32(uint8_t *data, uint32_t value) {
    data[0] = (uint8_t)value;
    data[1] = (uint8_t)(value >> 8);
    data[2] = (uint8_t)(value >> 16);
    data[3] = (uint8_t)(value >> 24);
}

void aboard_reply_words(aboard_server_t *server, const uint32_t *words, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        server->reply[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    }
    server->reply_count = (uint8_t)bytes;
}

void aboard_reply_data(aboard_server_t *server, uint8_t part, const void *data, size_t count) {
    server->reply_data[part].data = data;
    server->reply_data[part].count = count;
}

size_t aboard_payload_max(const aboard_server_t *server) {
    const uint16_t frame = ABOARD_MIN(server->host_max, server->config->frame_bytes);
    return (size_t)frame - ABOARD_RPC_HEADER_BYTES - ABOARD_RPC_CRC_BYTES;
}

/* Sends a message; spans[0] is for the header. */
static void send(uint8_t type, uint8_t code, uint16_t id, uint32_t session, aboard_span_t *spans, size_t count) {
    const uint8_t header[ABOARD_RPC_HEADER_BYTES] = {type,
                                                     code,
                                                     (uint8_t)id,
                                                     (uint8_t)(id >> 8),
                                                     (uint8_t)session,
                                                     (uint8_t)(session >> 8),
                                                     (uint8_t)(session >> 16),
                                                     (uint8_t)(session >> 24)};
    spans[0].data = header;
    spans[0].count = sizeof header;
    aboard_frame_write(spans, count, aboard_port_write);
}

void aboard_event(aboard_server_t *server, uint8_t type, const uint8_t *head, size_t head_count, const uint8_t *data,
                  size_t data_count) {
    aboard_span_t spans[3] = {{NULL, 0}, {head, head_count}, {data, data_count}};
    send(type, server->event++, server->busy ? server->id : 0, server->session, spans, 3);
}

void aboard_signal(aboard_server_t *server, uint8_t type) {
    aboard_event(server, type, NULL, 0, NULL, 0);
}

void aboard_server_log(aboard_server_t *server, const char *text) {
    size_t count = aboard_text_length(text, aboard_payload_max(server));
    while (count != 0) {
        aboard_event(server, ABOARD_RPC_LOG, (const uint8_t *)text, count, NULL, 0);
        text += count;
        count = aboard_text_length(text, aboard_payload_max(server));
    }
}

static void send_reply(const aboard_server_t *server) {
    aboard_span_t spans[4] = {
        {NULL, 0}, {server->reply, server->reply_count}, server->reply_data[0], server->reply_data[1]};
    send(server->reply_type, server->reply_status, server->id, server->session, spans, 4);
}

/* Answers a request without remembering the answer. */
static void refuse(uint8_t type, aboard_status_t status, uint16_t id, uint32_t session) {
    aboard_span_t header;
    send(type | ABOARD_RPC_REPLY, (uint8_t)status, id, session, &header, 1);
}

/* Payload bytes of each request; the top bit: at least so many. */
#define OR_MORE 0x80u
static const uint8_t lengths[ABOARD_RPC_STOP + 1] = {
    [ABOARD_RPC_HELLO] = 8 | OR_MORE, [ABOARD_RPC_MODEL] = 1,  [ABOARD_RPC_WRITE] = 8 | OR_MORE,
    [ABOARD_RPC_READ] = 12,           [ABOARD_RPC_RUN] = 10,   [ABOARD_RPC_PROFILE] = 4,
    [ABOARD_RPC_OP_READ] = 8,         [ABOARD_RPC_OP_RUN] = 8, [ABOARD_RPC_OP_WRITE] = 4 | OR_MORE,
    [ABOARD_RPC_STATS] = 0,           [ABOARD_RPC_FAULT] = 0,  [ABOARD_RPC_FAULT_CLEAR] = 0,
    [ABOARD_RPC_RESET] = 0,           [ABOARD_RPC_BEGIN] = 6,  [ABOARD_RPC_STOP] = 0};

static bool well_formed(uint8_t type, uint8_t code, size_t count) {
    if (type > ABOARD_RPC_STOP || code != 0) {
        return false;
    }
    const size_t length = lengths[type] & ~OR_MORE;
    return (lengths[type] & OR_MORE) != 0 ? count >= length : count == length;
}

static bool was_run(uint8_t reply_type) {
    return reply_type == (ABOARD_RPC_RUN | ABOARD_RPC_REPLY) || reply_type == (ABOARD_RPC_OP_RUN | ABOARD_RPC_REPLY);
}

static aboard_status_t make_reply(aboard_server_t *server, uint8_t type, uint8_t code, const uint8_t *payload,
                                  size_t count) {
    const bool sound = well_formed(type, code, count);
    const bool follows_run = was_run(server->reply_type);
    server->reply_type = type | ABOARD_RPC_REPLY;
    if (sound && type == ABOARD_RPC_STOP && follows_run) {
        /* What the series came to is still there: its own reply may have been lost. */
        return server->reply_status;
    }
    server->reply_count = 0;
    aboard_reply_data(server, 0, NULL, 0);
    aboard_reply_data(server, 1, NULL, 0);
    return sound ? aboard_request(server, type, payload, count) : ABOARD_ERROR_MESSAGE;
}

static void work(aboard_server_t *server, uint8_t type, uint8_t code, const uint8_t *payload, size_t count) {
    server->stats.requests++;
    server->busy = true;
    const aboard_status_t status = make_reply(server, type, code, payload, count);
    server->busy = false;
    server->reply_status = (uint8_t)status;
    send_reply(server);
    if (type == ABOARD_RPC_RESET && status == ABOARD_OK) {
        aboard_port_reset();
        /* Where the port cannot restart, the server does. */
        (void)aboard_server_init(server, server->config);
    }
}

/* Starts a session. False: refused, and the session that was there goes on. */
static bool greet(aboard_server_t *server, uint8_t code, uint16_t id, uint32_t session, const uint8_t *payload,
                  size_t count) {
    if (session == 0 || !well_formed(ABOARD_RPC_HELLO, code, count) || aboard_get_u32(payload) != MAGIC) {
        refuse(ABOARD_RPC_HELLO, ABOARD_ERROR_MESSAGE, id, session);
        return false;
    }
    if (payload[4] != ABOARD_RPC_MAJOR) {
        static const uint8_t version[2] = {ABOARD_RPC_MAJOR, ABOARD_RPC_MINOR};
        aboard_span_t spans[2] = {{NULL, 0}, {version, sizeof version}};
        send(ABOARD_RPC_HELLO | ABOARD_RPC_REPLY, ABOARD_ERROR_UNSUPPORTED, id, session, spans, 2);
        return false;
    }
    const uint16_t host_max = (uint16_t)aboard_get_u16(payload + 6);
    if (host_max < ABOARD_RPC_MIN_FRAME) {
        refuse(ABOARD_RPC_HELLO, ABOARD_ERROR_RANGE, id, session);
        return false;
    }
    server->session = session;
    server->host_max = host_max;
    server->inputs = 0;
    server->output_model = 0;
    server->feeding = 0;
    return true;
}

/* Answers the last request once more; while it is being worked on, with the event that says so. */
static void repeat(aboard_server_t *server) {
    server->stats.duplicates++;
    if (server->busy) {
        aboard_signal(server, ABOARD_RPC_ACCEPTED);
    } else {
        send_reply(server);
    }
}

/* Handles a message. A new request that comes while another is being worked on stays where it is and waits. */
static void handle(aboard_server_t *server, const uint8_t *message, size_t count) {
    if (count < ABOARD_RPC_HEADER_BYTES || message[0] == 0 || message[0] >= ABOARD_RPC_READY) {
        server->stats.strange++;
        return;
    }
    const uint8_t type = message[0];
    const uint8_t code = message[1];
    const uint16_t id = (uint16_t)aboard_get_u16(message + 2);
    const uint32_t session = aboard_get_u32(message + 4);
    const uint8_t *payload = message + ABOARD_RPC_HEADER_BYTES;
    count -= ABOARD_RPC_HEADER_BYTES;
    const bool known = session == server->session && session != 0;
    if (!known && type != ABOARD_RPC_HELLO) {
        refuse(type, ABOARD_ERROR_SESSION, id, session);
        return;
    }
    if (known && id == server->id && server->reply_type == (type | ABOARD_RPC_REPLY)) {
        repeat(server);
        return;
    }
    if (known && (type == ABOARD_RPC_HELLO || (uint16_t)(id - server->id) >= HALF_OF_IDS || id == server->id)) {
        /* A copy of an older request that the line delivered late: neither run nor answered. */
        server->stats.duplicates++;
        return;
    }
    if (server->busy) {
        server->waiting = true;
        return;
    }
    if (!known && !greet(server, code, id, session, payload, count)) {
        return;
    }
    server->id = id;
    server->taken = 0;
    server->told = 0;
    work(server, type, code, payload, count);
}

static void count_frame(aboard_server_t *server, aboard_frame_result_t result) {
    if (result == ABOARD_FRAME_READY) {
        server->stats.frames++;
        handle(server, server->reader.data, server->reader.count);
    } else if (result != ABOARD_FRAME_MORE) {
        uint32_t *const counter = result == ABOARD_FRAME_DAMAGED ? &server->stats.damaged : &server->stats.too_long;
        ++*counter;
        if (server->session != 0) {
            /* The host need not wait until it is sure that no reply comes. */
            aboard_signal(server, ABOARD_RPC_DAMAGED);
        }
    }
}

/* Tells the host of the room that has become free, whenever that is half of all there is: often enough that a host
 * which has used the other half meanwhile need not stop, and seldom enough to leave the line to others. */
static void count_taken(aboard_server_t *server) {
    const uint32_t room = server->config->burst;
    server->taken++;
    if (room != 0 && server->session != 0 && server->taken - server->told >= room / 2) {
        uint8_t taken[4];
        server->told = server->taken;
        aboard_put_u32(taken, server->taken);
        aboard_span_t spans[2] = {{NULL, 0}, {taken, sizeof taken}};
        send(ABOARD_RPC_CREDIT, server->event++, server->id, server->session, spans, 2);
    }
}

bool aboard_take_bytes(aboard_server_t *server) {
    if (server->byte_next == server->byte_count) {
        server->byte_next = 0;
        server->byte_count = (uint8_t)aboard_port_read(server->bytes, sizeof server->bytes);
    }
    const bool came = server->byte_count != 0;
    while (server->byte_next != server->byte_count && !server->waiting) {
        const uint8_t byte = server->bytes[server->byte_next++];
        count_taken(server);
        count_frame(server, aboard_frame_reader_take(&server->reader, byte));
        while (server->waiting && !server->busy) {
            server->waiting = false;
            handle(server, server->reader.data, server->reader.count);
        }
    }
    return came;
}

bool aboard_server_poll(aboard_server_t *server) {
    if (!server->started) {
        static const uint8_t version[2] = {ABOARD_RPC_MAJOR, ABOARD_RPC_MINOR};
        server->started = true;
        aboard_event(server, ABOARD_RPC_READY, version, sizeof version, NULL, 0);
    }
    return aboard_take_bytes(server);
}
