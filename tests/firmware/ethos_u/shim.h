/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_H
#define SHIM_H

#include "ethos_u_front.h"

void shim_power_on(uint32_t macs, size_t weights_room, uint32_t delay, uint32_t polls);
void shim_shorten_windows(uint32_t bytes);
void shim_remove(void);
const char *shim_problem(void);
int shim_run(uint32_t macs, const uint32_t *stream, size_t words, uint8_t *scratch, size_t bytes);
int64_t shim_decode(const uint8_t *data, size_t bytes, int16_t *out, size_t room);

#endif
