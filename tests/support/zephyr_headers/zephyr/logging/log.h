/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_LOGGING_LOG_H
#define ZEPHYR_LOGGING_LOG_H

#include <zephyr/sys/printk.h>

#define LOG_LEVEL_INF 3
#define LOG_MODULE_REGISTER(name, level) _Static_assert((level) > 0, "a level of " #name)
#define LOG_DBG(...) printk(__VA_ARGS__)

#endif
