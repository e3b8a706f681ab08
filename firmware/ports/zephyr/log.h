/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file log.h
 * Text of printk and Zephyr's logging. The server sends it as LOG events, because the serial line carries only RPC
 * frames.
 */
#ifndef ABOARD_ZEPHYR_LOG_H
#define ABOARD_ZEPHYR_LOG_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Removes the oldest line from the buffer; a longer line is returned in parts.
 *
 * @param text      Receives the text without its end of line, and a zero byte.
 * @param capacity  Bytes of `text`, 2 or more.
 * @return False if the buffer has no complete line.
 */
bool aboard_log_take(char *text, size_t capacity);

#endif
