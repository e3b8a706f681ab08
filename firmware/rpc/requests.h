/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file requests.h
 * Executes requests. RUN and OP_RUN are in run.c, streamed inputs in rows.c.
 */
#ifndef ABOARD_RPC_REQUESTS_H
#define ABOARD_RPC_REQUESTS_H

#include "state.h"

/**
 * Executes a request and fills the reply, which is empty before. Called by server.c.
 *
 * HELLO has already begun the session here, and RESET does nothing: server.c restarts when the reply is sent.
 *
 * @param request  A type from ABOARD_RPC_HELLO to ABOARD_RPC_STOP, and a length that docs/reference/protocol.md allows
 * for it. A series of runs overwrites the payload.
 * @return The status of the reply.
 */
aboard_status_t aboard_request(aboard_server_t *server, const aboard_message_t *request);

#endif
