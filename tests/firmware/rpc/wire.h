/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file wire.h
 * Plays bytes to the fake device and compares what it sends with the reference, message by message.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What was played so far, of all devices. */
typedef struct {
    unsigned long frames; /**< Whole frames with a right CRC. */
    unsigned long damaged;
    unsigned long runs; /**< Of models and nodes. */
    unsigned long accepted;
    unsigned long refused;
} wire_counts_t;
extern wire_counts_t wire_counts;

/** Starts a device that these bytes choose (fake_start_wild). False: they choose none. */
bool wire_start(const uint8_t *head);

/**
 * Puts bytes on the line, lets the device work, and checks: every reply is due and right and comes once, no request
 * runs twice, damage is told, events have their numbers, nothing is written beside the device's memory. A series of
 * runs that these bytes do not end is ended.
 *
 * @return NULL, or what is wrong.
 */
const char *wire_play(const uint8_t *bytes, size_t count);

/** Puts a message into a frame; returns its length. `frame` has room for 2 * count + 16 bytes. */
size_t wire_encode(uint8_t *frame, const uint8_t *message, size_t count);

#endif
