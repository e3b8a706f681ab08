/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file status.h
 * The results of firmware functions. The host has the same list with messages in host/aboard/rpc/status.py; a test
 * compares both lists.
 */
#ifndef ABOARD_STATUS_H
#define ABOARD_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Result of a call. 0 is success; every other value is an error. */
typedef enum {
    ABOARD_OK = 0,
    ABOARD_ERROR_ARENA_TOO_SMALL = 1,  /**< The arena has fewer bytes than the model needs. */
    ABOARD_ERROR_ARENA_MISALIGNED = 2, /**< The arena's address is not a multiple of ABOARD_ARENA_ALIGN. */
    ABOARD_ERROR_NULL = 3,             /**< A pointer that must not be NULL is. */
    ABOARD_ERROR_INDEX = 4,            /**< No model, tensor or node of this number. */
    ABOARD_ERROR_RANGE = 5,            /**< Offset and length reach outside a tensor. */
    ABOARD_ERROR_UNSUPPORTED = 6,      /**< The image was built without the requested feature. */
    ABOARD_ERROR_MESSAGE = 7,          /**< A request of unknown type or wrong length. */
    ABOARD_ERROR_STATE = 8,    /**< The request is not allowed in this state (inputs not written, nothing run). */
    ABOARD_ERROR_ABORTED = 9,  /**< A hook stopped the run. */
    ABOARD_ERROR_SESSION = 10, /**< No such RPC session: the device restarted, or serves another host. */
    ABOARD_ERROR_TIMEOUT = 11, /**< An accelerator or another core did not answer in time. */
    ABOARD_ERROR_DEVICE = 12   /**< An accelerator or another core reported a fault. */
} aboard_status_t;

#ifdef __cplusplus
}
#endif

#endif
