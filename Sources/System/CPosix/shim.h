// Linux system calls that are missing in Swift's Glibc module.
#pragma once
#include <malloc.h>
#include <stdint.h>
#include <sys/prctl.h>

// prctl(2) is variadic, which Swift cannot call. Names the calling thread.
static inline int posix_name_this_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

// flock(2). Declared here: <sys/file.h> includes <fcntl.h>, whose types would then belong to this module or to Glibc,
// depending on which is loaded first.
extern int flock(int descriptor, int operation);

// pipe2(2), and the posix_spawn(3) file action that closes all descriptors from a given one upwards (glibc 2.34), whose
// first argument is a posix_spawn_file_actions_t. Declared here: the headers declare them only under _GNU_SOURCE, which
// Swift's Glibc module does not define.
extern int pipe2(int ends[2], int flags);
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);

// Atomic operations on memory shared by several processes: plain addresses, which Swift's Atomic does not accept. No
// ordering is needed between different numbers.
static inline void posix_atomic_add(uint64_t *number, uint64_t value) {
    __atomic_fetch_add(number, value, __ATOMIC_RELAXED);
}
static inline void posix_atomic_store(uint64_t *number, uint64_t value) {
    __atomic_store_n(number, value, __ATOMIC_RELAXED);
}
static inline uint64_t posix_atomic_load(const uint64_t *number) {
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}
