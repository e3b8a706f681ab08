/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the native simulator's runner: compiled against the machine's C library, not Zephyr's. */
#define _POSIX_C_SOURCE 199309L
#include "host_clock.h"

#include <time.h>

uint64_t aboard_host_clock_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
