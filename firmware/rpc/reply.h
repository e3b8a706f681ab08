/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file reply.h
 * Sends messages: the reply to the current request, and events. Numbers on the wire are little-endian, and so are all
 * cores: numbers and tensors are sent as they are in memory.
 *
 * A request handler fills the reply and returns a status; server.c sends both when the handler has returned. A handler
 * calls aboard_reply_words at most once, and aboard_reply_data at most once for each part. The reply consists of the
 * words, then part 0, then part 1; each is empty until it is set. With a status other than ABOARD_OK a handler sets
 * none of them.
 *
 * All functions are called from aboard_server_poll or from the hooks of a running model, and from no interrupt.
 */
#ifndef ABOARD_RPC_REPLY_H
#define ABOARD_RPC_REPLY_H

#include "messages.h"
#include "state.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the server sends numbers as they are in memory, and needs a little-endian core"
#endif

/** Reads a number of 2 bytes; `data` need not be aligned. */
uint32_t aboard_get_u16(const uint8_t *data);

/** Reads a number of 4 bytes; `data` need not be aligned. */
uint32_t aboard_get_u32(const uint8_t *data);

/** Returns the bytes of a zero-terminated text, at most `limit`. Firmware need not link the C library's strlen. */
size_t aboard_text_length(const char *text, size_t limit);

/** Returns the longest payload that both host and device take: 116 bytes or more. */
size_t aboard_payload_max(const aboard_server_t *server);

/**
 * Starts the reply with numbers.
 *
 * @param words  Numbers of 32 bits, which are copied. A smaller field is a part of one, the first in the lowest bits.
 * @param bytes  Bytes to send, at most sizeof server->reply (56); need not be a multiple of 4.
 */
void aboard_reply_words(aboard_server_t *server, const uint32_t *words, size_t bytes);

/**
 * Appends data to the reply without copying it.
 *
 * @param part   0 or 1.
 * @param data   Must not change before the next request: a repetition sends it again. May be NULL if count is 0.
 * @param count  Together with the other part and the words at most aboard_payload_max.
 */
void aboard_reply_data(aboard_server_t *server, uint8_t part, const void *data, size_t count);

/** Sends the reply of the last request, for the first time or again. Called by server.c and receive.c. */
void aboard_send_reply(const aboard_server_t *server);

/**
 * Answers a request that is not executed, and does not keep the answer.
 *
 * @param request  Its session need not be the server's.
 * @param status   Not ABOARD_OK.
 * @param payload  May be NULL if count is 0.
 * @param count    2 or less.
 */
void aboard_send_refusal(const aboard_message_t *request, aboard_status_t status, const uint8_t *payload, size_t count);

/**
 * Sends an event. It has the number of the request that is being executed, else 0; CREDIT has the number of the last
 * request.
 *
 * @param head, head_count  First piece of the payload; NULL, 0 for none.
 * @param data, data_count  Second piece; NULL, 0 for none. Together at most aboard_payload_max.
 */
void aboard_send_event(aboard_server_t *server, uint8_t type, const uint8_t *head, size_t head_count,
                       const uint8_t *data, size_t data_count);

/** Sends an event without a payload. */
void aboard_send_signal(aboard_server_t *server, uint8_t type);

#endif
