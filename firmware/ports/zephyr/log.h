/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file log.h
 * What printk and Zephyr's logging say, for the server to send as LOG events: the serial line carries RPC frames alone.
 */
#ifndef ABOARD_ZEPHYR_LOG_H
#define ABOARD_ZEPHYR_LOG_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Takes the oldest text that has not been taken: a line, or as much of it as there is room for.
 *
 * @param text      Gets the text without its end of line, and a zero byte.
 * @param capacity  Bytes of `text`, 2 or more.
 * @return False when no whole line waits.
 */
bool aboard_log_take(char *text, size_t capacity);

#endif
