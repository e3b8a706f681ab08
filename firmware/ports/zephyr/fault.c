/* SPDX-License-Identifier: Apache-2.0 */
/* Handles fatal errors of the kernel: records the fault in RAM that a reset does not clear, and restarts. */
#include "fault.h"

#include <string.h>
#include <zephyr/arch/cpu.h>
#include <zephyr/fatal.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/reboot.h>

#include "aboard/port.h"

#if defined(CONFIG_CPU_CORTEX_M)
#if __has_include(<cmsis_core.h>)
#include <cmsis_core.h>
#else
#include <zephyr/arch/arm/cortex_m/cmsis.h>
#endif
#endif

/* Marks a valid record. After power-up, RAM has random contents. */
#define WRITTEN 0xFA171EDu

static __noinit struct {
    uint32_t written;
    aboard_fault_t fault;
} record;

void aboard_fault_init(void) {
    if (record.written != WRITTEN) {
        memset(&record.fault, 0, sizeof record.fault);
        record.written = WRITTEN;
    }
}

aboard_fault_t *aboard_port_fault(void) {
    return &record.fault;
}

#if defined(CONFIG_CPU_CORTEX_M)
#if defined(CONFIG_ARMV7_M_ARMV8_M_MAINLINE)
/* The kernel has already cleared CFSR. The reason code gives the bit that the kernel read. */
static uint32_t status_of(unsigned int reason) {
    static const struct {
        uint16_t reason;
        uint8_t bit;
    } bits[] = {
        {K_ERR_STACK_CHK_FAIL, 20},
        {K_ERR_ARM_MEM_STACKING, 4},
        {K_ERR_ARM_MEM_UNSTACKING, 3},
        {K_ERR_ARM_MEM_DATA_ACCESS, 1},
        {K_ERR_ARM_MEM_INSTRUCTION_ACCESS, 0},
        {K_ERR_ARM_MEM_FP_LAZY_STATE_PRESERVATION, 5},
        {K_ERR_ARM_BUS_STACKING, 12},
        {K_ERR_ARM_BUS_UNSTACKING, 11},
        {K_ERR_ARM_BUS_PRECISE_DATA_BUS, 9},
        {K_ERR_ARM_BUS_IMPRECISE_DATA_BUS, 10},
        {K_ERR_ARM_BUS_INSTRUCTION_BUS, 8},
        {K_ERR_ARM_BUS_FP_LAZY_STATE_PRESERVATION, 13},
        {K_ERR_ARM_USAGE_DIV_0, 25},
        {K_ERR_ARM_USAGE_UNALIGNED_ACCESS, 24},
        {K_ERR_ARM_USAGE_STACK_OVERFLOW, 20},
        {K_ERR_ARM_USAGE_NO_COPROCESSOR, 19},
        {K_ERR_ARM_USAGE_ILLEGAL_EXC_RETURN, 18},
        {K_ERR_ARM_USAGE_ILLEGAL_EPSR, 17},
        {K_ERR_ARM_USAGE_UNDEFINED_INSTRUCTION, 16},
    };
    for (size_t i = 0; i < ARRAY_SIZE(bits); i++) {
        if (bits[i].reason == reason) {
            return BIT(bits[i].bit);
        }
    }
    return 0;
}

static void record_cause(aboard_fault_t *fault, unsigned int reason) {
    fault->status = status_of(reason);
    if (reason == K_ERR_ARM_BUS_PRECISE_DATA_BUS) {
        fault->address = SCB->BFAR;
    } else if (reason == K_ERR_ARM_MEM_DATA_ACCESS || reason == K_ERR_STACK_CHK_FAIL) {
        fault->address = SCB->MMFAR;
    }
}
#else
/* Armv6-M and Armv8-M Baseline do not report a cause. */
static void record_cause(aboard_fault_t *fault, unsigned int reason) {
    ARG_UNUSED(fault);
    ARG_UNUSED(reason);
}
#endif

static void fill(aboard_fault_t *fault, unsigned int reason, const struct arch_esf *esf) {
    fault->kind = __get_IPSR();
    record_cause(fault, reason);
    if (esf != NULL) {
        memcpy(fault->registers, &esf->basic, sizeof esf->basic);
    }
}
#elif defined(CONFIG_RISCV)
static void fill(aboard_fault_t *fault, unsigned int reason, const struct arch_esf *esf) {
    ARG_UNUSED(reason);
    fault->status = (uint32_t)csr_read(mcause);
    fault->kind = fault->status + 1;
    fault->address = (uint32_t)csr_read(mtval);
    if (esf != NULL) {
        const unsigned long registers[] = {
            esf->ra,  (unsigned long)(uintptr_t)(esf + 1), esf->a0, esf->a1, esf->a2, esf->a3, esf->a4, esf->a5,
            esf->mepc};
        for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
            fault->registers[i] = (uint32_t)registers[i];
        }
    }
}
#elif !defined(CONFIG_ARCH_POSIX)
static void fill(aboard_fault_t *fault, unsigned int reason, const struct arch_esf *esf) {
    ARG_UNUSED(esf);
    fault->kind = reason + 1;
}
#endif

/* A simulated device exits with the message of the simulator. */
#if !defined(CONFIG_ARCH_POSIX)
void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *esf) {
    memset(&record.fault, 0, sizeof record.fault);
    fill(&record.fault, reason, esf);
    if (record.fault.kind == 0) {
        record.fault.kind = reason + 1; /* the kernel's own panic, outside of an exception */
    }
    record.written = WRITTEN;
    sys_reboot(SYS_REBOOT_COLD);
    CODE_UNREACHABLE;
}
#endif
