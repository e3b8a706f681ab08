/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the declarations of FreeRTOS that the example calls. */
#include <stdint.h>

typedef uint32_t TickType_t;
#define pdMS_TO_TICKS(ms) ((TickType_t)(ms))

void app_main(void);
