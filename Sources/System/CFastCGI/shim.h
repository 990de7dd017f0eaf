// The FastCGI application library (libfcgi): see fcgiapp.h.
#pragma once
#include <fcgiapp.h>
#include <fcntl.h>
#include <sys/socket.h>

// accept4(2) requires _GNU_SOURCE. Child processes must not inherit the descriptor.
static inline int fastcgi_accept(int socket) {
    int connection = accept(socket, 0, 0);
    if (connection >= 0) fcntl(connection, F_SETFD, FD_CLOEXEC);
    return connection;
}
