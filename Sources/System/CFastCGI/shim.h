// The FastCGI application library (libfcgi): see fcgiapp.h.
#pragma once
#include <fcgiapp.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

// accept4(2) requires _GNU_SOURCE. Child processes must not inherit the descriptor.
static inline int fastcgi_accept(int socket) {
    int connection = accept(socket, 0, 0);
    if (connection >= 0) fcntl(connection, F_SETFD, FD_CLOEXEC);
    return connection;
}

// Sends a record's header of 8 bytes and its content, without the first `sent` bytes of both together, in one sendmsg(2).
static inline ssize_t fastcgi_send(
    int connection, const void *header, const void *content, size_t contentBytes, size_t sent) {
    struct iovec pieces[2] = {{(void *)header, 8}, {(void *)content, contentBytes}};
    for (int i = 0; i < 2; i++) {
        size_t skipped = sent < pieces[i].iov_len ? sent : pieces[i].iov_len;
        pieces[i].iov_base = (char *)pieces[i].iov_base + skipped;
        pieces[i].iov_len -= skipped;
        sent -= skipped;
    }
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    return sendmsg(connection, &message, MSG_NOSIGNAL);
}
