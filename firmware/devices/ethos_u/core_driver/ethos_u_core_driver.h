/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file ethos_u_core_driver.h
 * Runs a command stream on an Arm Ethos-U55 by Arm's core driver, as Zephyr has it (CONFIG_ARM_ETHOS_U): in place of
 * the driver of `ethos_u.h`, of which it uses the records and the hooks for caches. Other users of Arm's driver may
 * share the NPU.
 */
#ifndef ETHOS_U_CORE_DRIVER_H
#define ETHOS_U_CORE_DRIVER_H

#include "ethos_u.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Waits until the NPU is free, runs a stream and waits for its end. May be called by several threads.
 * @param payload  The stream in Arm's container for it ("Custom Operator Payload 1"), aligned to 16 bytes.
 * @param bytes    Its length.
 * @param buffers  Memory that the stream reads or writes; what the stream does not use has no buffer.
 * @param count    Number of buffers.
 * @return ABOARD_OK; ABOARD_ERROR_NULL; ABOARD_ERROR_RANGE for a base pointer that there is not; ABOARD_ERROR_DEVICE if
 *         Arm's driver has no NPU, or reports an error: an NPU that the stream was not compiled for, an error in the
 *         stream or on the bus, a timeout (ETHOSU_INFERENCE_TIMEOUT; by default there is none). Its log says which.
 */
aboard_status_t ethos_u_invoke(const uint32_t *payload, uint32_t bytes, const ethos_u_buffer_t *buffers,
                               uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
