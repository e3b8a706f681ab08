/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include <string.h>

#include "aboard/config.h"
#include "aboard/port.h"

uint32_t aboard_get_u16(const uint8_t *data) {
    return (uint32_t)data[0] | (uint32_t)data[1] << 8;
}

uint32_t aboard_get_u32(const uint8_t *data) {
    return aboard_get_u16(data) | aboard_get_u16(data + 2) << 16;
}

size_t aboard_text_length(const char *text, size_t limit) {
    size_t count = 0;
    while (count < limit && text[count] != 0) {
        count++;
    }
    return count;
}

size_t aboard_payload_max(const aboard_server_t *server) {
    const uint16_t frame = ABOARD_MIN(server->host_max, server->config->frame_bytes);
    return (size_t)frame - ABOARD_RPC_HEADER_BYTES - ABOARD_RPC_CRC_BYTES;
}

void aboard_reply_words(aboard_server_t *server, const uint32_t *words, size_t bytes) {
    memcpy(server->reply, words, bytes);
    server->reply_count = (uint8_t)bytes;
}

void aboard_reply_data(aboard_server_t *server, uint8_t part, const void *data, size_t count) {
    server->reply_data[part].data = data;
    server->reply_data[part].count = count;
}

/* Sends a message. spans[0] is left free for the header; the payload follows. */
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

void aboard_send_reply(const aboard_server_t *server) {
    aboard_span_t spans[4] = {
        {NULL, 0}, {server->reply, server->reply_count}, server->reply_data[0], server->reply_data[1]};
    send(server->reply_type, server->reply_status, server->id, server->session, spans, 4);
}

void aboard_send_refusal(const aboard_message_t *request, aboard_status_t status, const uint8_t *payload,
                         size_t count) {
    aboard_span_t spans[2] = {{NULL, 0}, {payload, count}};
    send(request->type | ABOARD_RPC_REPLY, (uint8_t)status, request->id, request->session, spans, 2);
}

void aboard_send_event(aboard_server_t *server, uint8_t type, const uint8_t *head, size_t head_count,
                       const uint8_t *data, size_t data_count) {
    aboard_span_t spans[3] = {{NULL, 0}, {head, head_count}, {data, data_count}};
    const bool has_request = server->busy || type == ABOARD_RPC_CREDIT;
    send(type, server->event++, has_request ? server->id : 0, server->session, spans, 3);
}

void aboard_send_signal(aboard_server_t *server, uint8_t type) {
    aboard_send_event(server, type, NULL, 0, NULL, 0);
}
