/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file crc32.h
 * CRC-32 as in Ethernet and zlib: polynomial 0x04C11DB7, reflected, start and final exclusive-or 0xFFFFFFFF.
 */
#ifndef ABOARD_RPC_CRC32_H
#define ABOARD_RPC_CRC32_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Continues a CRC over more bytes.
 *
 * @param crc    0 for the first bytes, else the result of the last call.
 * @param data   May be NULL when `count` is 0.
 * @param count  Number of bytes.
 * @return       The CRC of all bytes so far, equal to zlib's crc32.
 */
uint32_t aboard_crc32(uint32_t crc, const uint8_t *data, size_t count);

#ifdef __cplusplus
}
#endif

#endif
