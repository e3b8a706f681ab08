/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file text.h
 * Text out and numbers in, without the C library's formatting. Between the files of the server; not for applications.
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

/** Sends a byte as two digits of hexadecimal, in lower case. */
void aboard_put_hex(uint8_t byte);

/** Sends a number with three decimals, rounded to nearest, ties to even, as C's "%.3f" does. */
void aboard_put_decimal(float value);

/** Reads a number in decimal, digits alone; false when the text is no such number or it is too large. */
bool aboard_parse_number(const char *text, uint32_t *value);

/** Reads a digit of hexadecimal; -1 when it is none. */
int aboard_hex_digit(char digit);

/** Bytes of a text, without its terminator. */
size_t aboard_text_bytes(const char *text);

/** True when two texts are equal. */
bool aboard_text_equal(const char *text, const char *other);

#endif
