// System calls of Linux that Swift's Glibc module lacks.
#pragma once
#include <malloc.h>
#include <sys/prctl.h>

// prctl(2) is variadic, which Swift cannot call. Names the calling thread.
static inline int posix_name_this_thread(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }
