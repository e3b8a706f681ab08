/* SPDX-License-Identifier: Apache-2.0 */
/* Zephyr's declarations that the examples use, of its release 3.7, so that their C can be compiled without a tree. */
#ifndef ZEPHYR_DEVICE_H
#define ZEPHYR_DEVICE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device {
    const char *name;
    const void *api;
};

bool device_is_ready(const struct device *dev);

extern const struct device device_of_the_tree;

#define ARG_UNUSED(argument) (void)(argument)
#define BUILD_ASSERT(condition, text) _Static_assert(condition, text)
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define CLAMP(value, low, high) ((value) <= (low) ? (low) : MIN(value, high))

#define DT_ALIAS(alias) alias
#define DT_PATH(node) node
#define DT_PROP_OR(node, property, otherwise) (otherwise)
#define DEVICE_DT_GET(node) (&device_of_the_tree)
#define DEVICE_DT_INST_DEFINE(number, init, pm, data, config, level, priority, interface)                              \
    const struct device device_##number = {#level,                                                                     \
                                           (init) == NULL && (pm) == NULL && (priority) >= 0 ? (interface) : NULL}

#endif
