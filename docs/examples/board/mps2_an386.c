/* SPDX-License-Identifier: Apache-2.0 */
/* The board of the emulated machine mps2-an386: the sensor is the file samples.raw, decisions are
 * printed. */
#include <stddef.h>

#include "board.h"

#define SYS_OPEN 0x01
#define SYS_WRITE0 0x04
#define SYS_READ 0x06
#define SYS_EXIT 0x18
#define STOPPED 0x20026u
#define FAILED 0x20023u

/* With `-icount shift=0` QEMU executes an instruction in 1 ns; SysTick counts at 25 MHz. */
#define INSTRUCTIONS_PER_TICK 40
#define SYSTICK ((volatile uint32_t *)0xe000e010u)
#define SYSTICK_BITS 24
#define STACK_PAINT 0x5aa5c33cu

extern uint32_t stack_bottom[], stack_top[];
int main(void);
void start(void);
void fault(void);

static uint64_t total[BOARD_PARTS];
static uint32_t runs[BOARD_PARTS];

static int32_t ask(uint32_t request, const void *argument) {
    register uint32_t r0 __asm__("r0") = request;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
}

static void print(const char *text) {
    ask(SYS_WRITE0, text);
}

static void print_number(uint64_t value) {
    char text[24];
    char *digit = &text[sizeof text - 1];
    *digit = 0;
    do {
        *--digit = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    print(digit);
}

/* Reads bytes of the recording, in whole elements; returns the number of elements. */
static int32_t sense(void *values, int32_t count, uint32_t element) {
    static int32_t file;
    if (file == 0) {
        static const char name[] = "samples.raw";
        const uint32_t open[3] = {(uint32_t)name, 1 /* rb */, sizeof name - 1};
        file = ask(SYS_OPEN, open);
    }
    const uint32_t read[3] = {(uint32_t)file, (uint32_t)values, (uint32_t)count * element};
    /* The answer is the number of bytes that were not read. */
    return file <= 0 ? 0 : (int32_t)((read[2] - (uint32_t)ask(SYS_READ, read)) / element);
}

int32_t board_microphone(int16_t *samples, int32_t count) {
    return sense(samples, count, sizeof *samples);
}

int32_t board_accelerometer(int16_t *samples, int32_t count) {
    return sense(samples, count, 3 * sizeof *samples);
}

bool board_camera_line(uint8_t *pixels) {
    return sense(pixels, 1, BOARD_CAMERA_WIDTH) > 0;
}

void board_decided(int32_t decided, uint32_t sample) {
    print_number((uint64_t)decided);
    print(" ");
    print_number(sample);
    print("\n");
}

uint32_t board_ticks(void) {
    return (0xffffffu - SYSTICK[2]) << (32 - SYSTICK_BITS);
}

void board_measured(board_part_t part, uint32_t ticks) {
    total[part] += (uint64_t)(ticks >> (32 - SYSTICK_BITS)) * INSTRUCTIONS_PER_TICK;
    ++runs[part];
}

static void print_figure(const char *name, uint64_t value) {
    print(name);
    print_number(value);
    print("\n");
}

static void print_mean(const char *name, board_part_t part) {
    if (runs[part] != 0) {
        print_figure(name, total[part] / runs[part]);
    }
}

__attribute__((noreturn)) static void leave(uint32_t reason) {
    for (;;) {
        ask(SYS_EXIT, (const void *)reason);
    }
}

void fault(void) {
    leave(FAILED);
}

void start(void) {
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: the FPU is on. */
    for (uint32_t *word = stack_bottom; word < (uint32_t *)__builtin_frame_address(0) - 16; ++word) {
        *word = STACK_PAINT;
    }
    SYSTICK[1] = 0xffffff;
    SYSTICK[0] = 5; /* On, at the core's clock. */
    const int failed = main();
    const uint32_t *word = stack_bottom;
    while (*word == STACK_PAINT) {
        ++word;
    }
    print_mean("instructions of the front end for a frame: ", BOARD_FRONT_END);
    print_mean("instructions of the model for a run: ", BOARD_MODEL);
    print_figure("bytes of stack: ", (uint64_t)((const char *)stack_top - (const char *)word));
    leave(failed ? FAILED : STOPPED);
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top,           (const void *)start, (const void *)fault, (const void *)fault,
    (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault,
};
