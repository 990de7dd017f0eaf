// System calls of Linux that Swift's Glibc module lacks.
#pragma once
#include <malloc.h>
#include <stdint.h>
#include <sys/prctl.h>

// prctl(2) is variadic, which Swift cannot call. Names the calling thread.
static inline int posix_name_this_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

// flock(2). Declared here: <sys/file.h> includes <fcntl.h>, whose types would then belong to this module or to Glibc,
// whichever is loaded first.
extern int flock(int descriptor, int operation);

// pipe2(2), and posix_spawn(3)'s way to close all descriptors from one on (glibc 2.34), whose first argument is a
// posix_spawn_file_actions_t. Declared here: the headers show them to GNU sources only, which Swift's Glibc is not.
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);

// Numbers in memory that processes share: plain addresses, which Swift's Atomic does not take. No order is needed
// between different numbers.
static inline void posix_atomic_add(uint64_t *number, uint64_t value) {
    __atomic_fetch_add(number, value, __ATOMIC_RELAXED);
}
static inline void posix_atomic_store(uint64_t *number, uint64_t value) {
    __atomic_store_n(number, value, __ATOMIC_RELAXED);
}
static inline uint64_t posix_atomic_load(const uint64_t *number) {
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}
