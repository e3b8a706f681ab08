/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the declarations of FreeRTOS that the example calls. */
void vTaskDelay(TickType_t ticks);
