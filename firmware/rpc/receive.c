/* SPDX-License-Identifier: Apache-2.0 */
#include "receive.h"

#include "aboard/port.h"
#include "reply.h"

/* A request whose number is this far or farther ahead of the last one is behind it: numbers wrap. */
#define HALF_OF_IDS 0x8000u

aboard_message_t aboard_received_message(const aboard_server_t *server) {
    const uint8_t *data = server->reader.data;
    const aboard_message_t message = {.payload = data + ABOARD_RPC_HEADER_BYTES,
                                      .count = server->reader.count - ABOARD_RPC_HEADER_BYTES,
                                      .session = aboard_get_u32(data + 4),
                                      .id = (uint16_t)aboard_get_u16(data + 2),
                                      .type = data[0],
                                      .code = data[1]};
    return message;
}

/* Answers the last request again; while it is being executed, with the event that says so. */
static void repeat(aboard_server_t *server) {
    server->stats.duplicates++;
    if (server->busy) {
        aboard_send_signal(server, ABOARD_RPC_ACCEPTED);
    } else {
        aboard_send_reply(server);
    }
}

/* Settles the message in the frame buffer, unless it is a new request: that one waits. */
static void settle(aboard_server_t *server) {
    if (server->reader.count < ABOARD_RPC_HEADER_BYTES || server->reader.data[0] == 0 ||
        server->reader.data[0] >= ABOARD_RPC_READY) {
        server->stats.strange++;
        return;
    }
    const aboard_message_t message = aboard_received_message(server);
    const uint8_t type = message.type;
    const bool known = message.session == server->session && message.session != 0;
    if (!known && type != ABOARD_RPC_HELLO) {
        aboard_send_refusal(&message, ABOARD_ERROR_SESSION, NULL, 0);
        return;
    }
    const bool same_id = message.id == server->id;
    if (known && same_id && server->reply_type == (type | ABOARD_RPC_REPLY)) {
        repeat(server);
        return;
    }
    if (known && (type == ABOARD_RPC_HELLO || same_id || (uint16_t)(message.id - server->id) >= HALF_OF_IDS)) {
        /* The line delivered a copy of an older request late: neither executed nor answered. */
        server->stats.duplicates++;
        return;
    }
    server->waiting = true;
}

static void count_frame(aboard_server_t *server, aboard_frame_result_t result) {
    if (result == ABOARD_FRAME_READY) {
        server->stats.frames++;
        settle(server);
    } else if (result != ABOARD_FRAME_MORE) {
        uint32_t *const counter = result == ABOARD_FRAME_DAMAGED ? &server->stats.damaged : &server->stats.too_long;
        ++*counter;
        if (server->session != 0) {
            /* The host need not wait for a time-out: no reply comes. */
            aboard_send_signal(server, ABOARD_RPC_DAMAGED);
        }
    }
}

/* Reports freed room to the host each time that half of all room has become free: often enough that a host which has
 * used the other half meanwhile need not stop, and seldom enough to leave the line to others. */
static void count_byte(aboard_server_t *server) {
    const uint32_t room = server->config->burst;
    const uint32_t received = ++server->received_bytes;
    if (room != 0 && server->session != 0 && received - server->credited_bytes >= room / 2) {
        server->credited_bytes = received;
        aboard_send_event(server, ABOARD_RPC_CREDIT, (const uint8_t *)&received, sizeof received, NULL, 0);
    }
}

bool aboard_receive(aboard_server_t *server) {
    if (server->byte_next == server->byte_count) {
        server->byte_next = 0;
        server->byte_count = (uint8_t)aboard_port_read(server->bytes, sizeof server->bytes);
    }
    const bool came = server->byte_count != 0;
    while (server->byte_next != server->byte_count && !server->waiting) {
        const uint8_t byte = server->bytes[server->byte_next++];
        count_byte(server);
        count_frame(server, aboard_frame_reader_take(&server->reader, byte));
    }
    return came;
}
