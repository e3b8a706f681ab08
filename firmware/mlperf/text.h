/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file text.h
 * Prints text and parses numbers without the C library. Internal to the MLPerf server.
 */
#ifndef ABOARD_MLPERF_TEXT_H
#define ABOARD_MLPERF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Sends a text, without its terminator. */
void aboard_put(const char *text);

/** Sends a number in decimal. */
void aboard_put_number(uint64_t value);

/** Sends a byte as two hexadecimal digits, in lower case. */
void aboard_put_hex(uint8_t byte);

/** Sends a number with three decimals, rounded to nearest, ties to even, as C's "%.3f" does. */
void aboard_put_decimal(float value);

/** Parses a decimal number of digits alone; false if the text is not such a number or the number is too large. */
bool aboard_parse_number(const char *text, uint32_t *value);

/** Value of a hexadecimal digit; -1 for any other character. */
int aboard_hex_digit(char digit);

/** Length of a text in bytes, without its terminator. */
size_t aboard_text_bytes(const char *text);

/** True if two texts are equal. */
bool aboard_text_equal(const char *text, const char *other);

#endif
