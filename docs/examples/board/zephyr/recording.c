/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <zephyr/arch/common/semihost.h>

/* SYS_EXIT, which Zephyr does not name, and its reason ADP_Stopped_ApplicationExit. */
#define SYS_EXIT ((enum semihost_instr)0x18)
#define STOPPED ((void *)0x20026)

void recording_read(void *values, size_t bytes) {
    static long file;
    if (file == 0) {
        file = semihost_open("samples.raw", SEMIHOST_OPEN_RB);
    }
    if (file < 0 || semihost_read(file, values, (long)bytes) != (long)bytes) {
        semihost_exec(SYS_EXIT, STOPPED);
        for (;;) {
        }
    }
}
