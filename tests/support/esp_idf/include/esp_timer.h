/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the declarations of ESP-IDF that the example calls. */
#include <stdint.h>

int64_t esp_timer_get_time(void);
