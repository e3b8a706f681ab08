/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_SYS_PRINTK_H
#define ZEPHYR_SYS_PRINTK_H

__attribute__((format(printf, 1, 2))) void printk(const char *fmt, ...);

#endif
