/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware as a process. It serves on a pseudo-terminal and prints the path of the terminal as the first line of
 * its standard output. It ends when its parent ends. A restart executes the program again on the same pseudo-terminal;
 * the fault record survives in an unnamed file. */
#define _GNU_SOURCE
#include "aboard/port.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <termios.h>
#include <ucontext.h>
#include <unistd.h>

#include "aboard/config.h"
#include "counter.h"

#define PATTERN 0xA5u
/* Bytes of stack to watch, and bytes below the current frame that are in use (the ABI's red zone, this file's frames).
 */
#define WATCHED_BYTES (256u * 1024u)
#define MARGIN_BYTES 1024u
#define POLL_MILLISECONDS 200
#define TERMINAL_VARIABLE "ABOARD_TERMINAL"
#define FAULT_VARIABLE "ABOARD_FAULT"

static int terminal = -1;
static pid_t parent;
static aboard_fault_t *fault;
static aboard_fault_t no_record;
static uint8_t signal_stack[16384];
static volatile uint8_t *marked_from;

static void end(const char *what) {
    perror(what);
    _exit(1);
}

/* The file descriptor that this process left in the environment before a restart, or -1. */
static int inherited(const char *variable) {
    const char *text = getenv(variable);
    return text != NULL ? atoi(text) : -1;
}

static void hand_on(const char *variable, int descriptor) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", descriptor);
    (void)setenv(variable, text, 1);
}

static void open_terminal(void) {
    terminal = inherited(TERMINAL_VARIABLE);
    if (terminal >= 0) {
        return;
    }
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0 ||
        fcntl(terminal, F_SETFL, O_NONBLOCK) != 0) {
        end("pseudo-terminal");
    }
    const char *path = ptsname(terminal);
    /* Kept open, so that the line stays open and raw while no host is connected. */
    const int line = path != NULL ? open(path, O_RDWR | O_NOCTTY) : -1;
    struct termios settings;
    if (line < 0 || tcgetattr(line, &settings) != 0) {
        end("pseudo-terminal");
    }
    cfmakeraw(&settings);
    if (tcsetattr(line, TCSANOW, &settings) != 0) {
        end("pseudo-terminal");
    }
    (void)printf("%s\n", path);
    (void)fflush(stdout);
    hand_on(TERMINAL_VARIABLE, terminal);
}

static void open_fault(void) {
    fault = &no_record;
    int file = inherited(FAULT_VARIABLE);
    if (file < 0) {
        FILE *temporary = tmpfile();
        if (temporary == NULL) {
            return;
        }
        file = dup(fileno(temporary));
        (void)fclose(temporary);
        if (file < 0 || ftruncate(file, (off_t)sizeof *fault) != 0) {
            return;
        }
        hand_on(FAULT_VARIABLE, file);
    }
    void *record = mmap(NULL, sizeof *fault, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (record != MAP_FAILED) {
        fault = record;
    }
}

/* Takes the load offset of the program, which is the first object that the loader lists. */
static int take_offset(struct dl_phdr_info *info, size_t size, void *offset) {
    (void)size;
    *(uint64_t *)offset = info->dlpi_addr;
    return 1;
}

static void put_u64(uint32_t index, uint64_t value) {
    fault->registers[index] = (uint32_t)value;
    fault->registers[index + 1] = (uint32_t)(value >> 32);
}

static void record_registers(const ucontext_t *context, uint64_t address) {
    uint64_t pc = 0;
    uint64_t sp = 0;
    uint64_t offset = 0;
#if defined(__x86_64__)
    pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    pc = context->uc_mcontext.pc;
    sp = context->uc_mcontext.sp;
#else
    (void)context;
#endif
    (void)dl_iterate_phdr(take_offset, &offset);
    put_u64(0, pc - offset);
    put_u64(2, pc);
    put_u64(4, sp);
    put_u64(6, address);
}

static void record_fault(int number, siginfo_t *info, void *context) {
    const uint64_t address = (uintptr_t)info->si_addr;
    memset(fault, 0, sizeof *fault);
    fault->kind = (uint32_t)number;
    fault->status = (uint32_t)info->si_code;
    fault->address = (uint32_t)address;
    record_registers(context, address);
    aboard_port_reset();
}

static void catch_faults(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    struct sigaction action = {.sa_sigaction = record_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    (void)sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        (void)sigaction(signals[i], &action, NULL);
    }
}

void aboard_port_init(void) {
    parent = getppid();
    open_terminal();
    open_fault();
    catch_faults();
    aboard_counter_init();
}

size_t aboard_port_read(uint8_t *data, size_t capacity) {
    struct pollfd line = {.fd = terminal, .events = POLLIN};
    if (poll(&line, 1, 0) <= 0 || (line.revents & POLLIN) == 0) {
        return 0;
    }
    const ssize_t count = read(terminal, data, capacity);
    return count > 0 ? (size_t)count : 0;
}

/* Waits for the terminal, and exits when the parent ends. Otherwise the process would wait for ever. */
static void await(short events) {
    struct pollfd line = {.fd = terminal, .events = events};
    (void)poll(&line, 1, POLL_MILLISECONDS);
    if (getppid() != parent) {
        _exit(0);
    }
}

void aboard_port_write(const uint8_t *data, size_t count) {
    while (count != 0) {
        const ssize_t sent = write(terminal, data, count);
        if (sent > 0) {
            data += sent;
            count -= (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            await(POLLOUT);
        } else {
            return;
        }
    }
}

void aboard_port_idle(void) {
    await(POLLIN);
}

/* Fills downwards, because the system adds pages at the lower end of the stack. */
ABOARD_NOINLINE void aboard_port_stack_mark(void) {
    struct rlimit limit;
    const bool is_small = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < 2 * WATCHED_BYTES;
    marked_from = is_small ? NULL : (volatile uint8_t *)__builtin_frame_address(0);
    if (marked_from == NULL) {
        return;
    }
    for (size_t depth = MARGIN_BYTES; depth < WATCHED_BYTES; depth++) {
        *(marked_from - depth) = PATTERN;
    }
}

ABOARD_NOINLINE uint32_t aboard_port_stack_used(void) {
    if (marked_from == NULL) {
        return 0;
    }
    uint32_t depth = WATCHED_BYTES - 1;
    while (depth > MARGIN_BYTES && *(marked_from - depth) == PATTERN) {
        depth--;
    }
    return depth;
}

aboard_fault_t *aboard_port_fault(void) {
    return fault;
}

void aboard_port_reset(void) {
    static char name[] = "aboard";
    static char *const arguments[] = {name, NULL};
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execv("/proc/self/exe", arguments);
    _exit(1);
}
