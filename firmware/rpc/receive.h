/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file receive.h
 * Takes bytes from the line, finds the messages among them, and settles the ones that are not new requests: a repeated
 * request is answered from memory, so that every request is executed at most once. A new request stays in the frame
 * buffer and holds back the line until server.c clears `waiting`.
 *
 * A series of runs calls aboard_receive between its runs, so that the next request ends the series. Nothing here
 * executes a request, and so nothing calls itself.
 */
#ifndef ABOARD_RPC_RECEIVE_H
#define ABOARD_RPC_RECEIVE_H

#include "state.h"

/**
 * Takes at most 32 bytes that have arrived, and stops after the first new request; server->waiting is then true.
 *
 * While a request is being executed (server->busy) a repetition of it is answered with ACCEPTED. Sends CREDIT and
 * DAMAGED when due. Called by aboard_server_poll and by a series of runs.
 *
 * @return True if there were bytes.
 */
bool aboard_receive(aboard_server_t *server);

/**
 * Takes apart the message in the frame buffer, which has a header. Called by server.c while server->waiting, and by
 * receive.c.
 *
 * @return To server.c, a request of the server's session or a HELLO of another one. Its code and count are not checked.
 */
aboard_message_t aboard_received_message(const aboard_server_t *server);

#endif
