/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file recording.h
 * The recording that an emulated board's sensor plays: the file samples.raw of the machine that emulates it.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stddef.h>

/** Reads the next bytes of the recording. At its end it ends the emulation, and does not return. */
void recording_read(void *values, size_t bytes);

#endif
