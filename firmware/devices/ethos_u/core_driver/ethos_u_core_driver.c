/* SPDX-License-Identifier: Apache-2.0 */
#include "ethos_u_core_driver.h"

#if defined(__ZEPHYR__)
#include <zephyr/devicetree.h>
#if !defined(CONFIG_ARM_ETHOS_U) && !defined(CONFIG_ETHOS_U)
#error "The model needs Zephyr's driver of the NPU: set CONFIG_ARM_ETHOS_U=y, or compile it without -driver=zephyr"
#elif defined(CONFIG_ARM_ETHOS_U) && !DT_HAS_COMPAT_STATUS_OKAY(arm_ethos_u)
#error "The devicetree has no NPU: add a node with compatible = \"arm,ethos-u\", or compile without -driver=zephyr"
#endif
#endif

#include <ethosu_driver.h>

#define POINTERS 8u

static aboard_status_t check(const uint32_t *payload, const ethos_u_buffer_t *buffers, uint32_t count) {
    if (payload == NULL || (buffers == NULL && count > 0u)) {
        return ABOARD_ERROR_NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (buffers[i].pointer >= POINTERS) {
            return ABOARD_ERROR_RANGE;
        }
    }
    return ABOARD_OK;
}

static aboard_status_t run(const uint32_t *payload, uint32_t bytes, uint64_t *bases, const size_t *sizes) {
    struct ethosu_driver *driver = ethosu_reserve_driver();
    if (driver == NULL) {
        return ABOARD_ERROR_DEVICE;
    }
    const int failed = ethosu_invoke_v3(driver, payload, (int)bytes, bases, sizes, (int)POINTERS, NULL);
    ethosu_release_driver(driver);
    return failed != 0 ? ABOARD_ERROR_DEVICE : ABOARD_OK;
}

aboard_status_t ethos_u_invoke(const uint32_t *payload, uint32_t bytes, const ethos_u_buffer_t *buffers,
                               uint32_t count) {
    uint64_t bases[POINTERS] = {0};
    size_t sizes[POINTERS] = {0};
    aboard_status_t status = check(payload, buffers, count);
    if (status != ABOARD_OK) {
        return status;
    }
    /* Arm's driver leaves caches to hooks, which Zephyr 3.7 does not define. */
    ethos_u_clean(payload, bytes);
    for (uint32_t i = 0; i < count; i++) {
        bases[buffers[i].pointer] = (uintptr_t)buffers[i].base;
        sizes[buffers[i].pointer] = buffers[i].bytes;
        ethos_u_clean(buffers[i].base, buffers[i].bytes);
    }
    __sync_synchronize();
    status = run(payload, bytes, bases, sizes);
    __sync_synchronize();
    for (uint32_t i = 0; i < count; i++) {
        if (buffers[i].is_written) {
            ethos_u_invalidate(buffers[i].base, buffers[i].bytes);
        }
    }
    return status;
}
