/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZEPHYR_ARCH_COMMON_SEMIHOST_H
#define ZEPHYR_ARCH_COMMON_SEMIHOST_H

enum semihost_instr { SEMIHOST_OPEN = 0x01, SEMIHOST_READ = 0x06, SEMIHOST_SYSTEM = 0x12 };
enum semihost_open_mode { SEMIHOST_OPEN_R = 0, SEMIHOST_OPEN_RB = 1 };

long semihost_exec(enum semihost_instr instr, void *args);
long semihost_open(const char *path, long mode);
long semihost_read(long fd, void *buf, long len);

#endif
