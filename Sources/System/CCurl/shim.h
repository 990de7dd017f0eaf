// libcurl. Variadic functions cannot be called from Swift; each gets a typed shim per argument type.
#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

/// curl_easy_setopt is variadic: for options that take a `long` (flags, seconds, sizes).
static inline CURLcode shim_curl_setopt_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

/// curl_easy_setopt is variadic: for options that take a `curl_off_t` (64-bit sizes).
static inline CURLcode shim_curl_setopt_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

/// curl_easy_setopt is variadic: for options that take a C string, which libcurl copies.
static inline CURLcode shim_curl_setopt_string(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

/// curl_easy_setopt is variadic: for options that take a pointer, which libcurl keeps (data, buffers).
static inline CURLcode shim_curl_setopt_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

/// curl_easy_setopt is variadic: for options that take a header list, which libcurl keeps.
static inline CURLcode shim_curl_setopt_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

/// The callback type shared by CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION.
typedef size_t (*shim_curl_data_callback)(char *bytes, size_t size, size_t count, void *context);

/// curl_easy_setopt is variadic: for CURLOPT_WRITEFUNCTION, CURLOPT_HEADERFUNCTION and CURLOPT_READFUNCTION.
static inline CURLcode shim_curl_setopt_callback(CURL *handle, CURLoption option, shim_curl_data_callback value) {
    return curl_easy_setopt(handle, option, value);
}

/// curl_easy_setopt is variadic: for CURLOPT_SEEKFUNCTION.
static inline CURLcode shim_curl_setopt_seek(CURL *handle, curl_seek_callback value) {
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

/// curl_easy_setopt is variadic: for CURLOPT_XFERINFOFUNCTION.
static inline CURLcode shim_curl_setopt_progress(CURL *handle, curl_xferinfo_callback value) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value);
}

/// curl_easy_setopt is variadic: for CURLOPT_PREREQFUNCTION.
static inline CURLcode shim_curl_setopt_prereq(CURL *handle, curl_prereq_callback value) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value);
}

/// curl_easy_setopt is variadic: for CURLOPT_SOCKOPTFUNCTION.
static inline CURLcode shim_curl_setopt_socket_options(CURL *handle, curl_sockopt_callback value) {
    return curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, value);
}

/// Limits how many unsent bytes the kernel accepts (tcp(7), `TCP_NOTSENT_LOWAT`): otherwise it accepts megabytes from a
/// program, and sends them for minutes over a slow line.
static inline void shim_curl_limit_unsent(curl_socket_t socket, int bytes) {
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

/// curl_multi_setopt is variadic: for options that take a `long`.
static inline CURLMcode shim_curl_multi_setopt_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// curl_easy_getinfo is variadic: for values that are a `long`.
static inline CURLcode shim_curl_getinfo_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

/// curl_easy_getinfo is variadic: for values that are a `curl_off_t`.
static inline CURLcode shim_curl_getinfo_offset(CURL *handle, CURLINFO info, curl_off_t *value) {
    return curl_easy_getinfo(handle, info, value);
}

/// CURL_GLOBAL_DEFAULT is a macro built from macros.
static inline CURLcode shim_curl_global_init(void) { return curl_global_init(CURL_GLOBAL_DEFAULT); }

/// curl_easy_setopt is variadic: for CURLOPT_OPENSOCKETFUNCTION.
static inline CURLcode shim_curl_setopt_open_socket(CURL *handle, curl_opensocket_callback value) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value);
}

/// The bytes of the IP address that libcurl is about to connect to, in network order, with their number: 4 or 16; 0 for
/// another family. `struct curl_sockaddr` declares less space than the address needs (CURLOPT_OPENSOCKETFUNCTION(3)).
static inline size_t shim_curl_ip_address(const struct curl_sockaddr *address, const uint8_t **bytes) {
    switch (address->addr.sa_family) {
    case AF_INET:
        *bytes = (const uint8_t *)&((const struct sockaddr_in *)&address->addr)->sin_addr;
        return 4;
    case AF_INET6:
        *bytes = (const uint8_t *)&((const struct sockaddr_in6 *)&address->addr)->sin6_addr;
        return 16;
    default:
        *bytes = NULL;
        return 0;
    }
}

/// Creates the socket that libcurl would create; CURL_SOCKET_BAD if that fails.
static inline curl_socket_t shim_curl_socket(const struct curl_sockaddr *address) {
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// CURL_SOCKET_BAD is a macro.
static inline curl_socket_t shim_curl_no_socket(void) { return CURL_SOCKET_BAD; }
