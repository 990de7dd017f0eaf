// The FastCGI application library (libfcgi): see fcgiapp.h.
#pragma once
#include <fcgiapp.h>
#include <fcntl.h>
#include <sys/socket.h>

// accept4(2) stands behind _GNU_SOURCE. A descriptor that a child process could inherit is of no use to us.
static inline int fastcgi_accept(int socket) {
    int connection = accept(socket, 0, 0);
    if (connection >= 0) fcntl(connection, F_SETFD, FD_CLOEXEC);
    return connection;
}
