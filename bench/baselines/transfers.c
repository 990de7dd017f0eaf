/* The lower bound of the cost of a transfer: a responder that passes bytes between nginx and the emulated Drive, and
 * computes the checksum that verifies them: SHA-256 of downloads, MD5 of uploads.
 *
 * usage: transfers THREADS      inherits the listening socket as descriptor 3
 *
 * GET /counters returns the number of uploads in progress, and the number of upload bytes received. Any other request goes
 * to Drive unchanged: with its path, query and Authorization. There is no sign-in, no permission, no database, no deadline,
 * no limit, no retry and no log, and Drive's reply to an upload is not read.
 * CLOUD_ADDRESS (host:port) and CLOUD_CA describe the cloud.
 */
#include <curl/curl.h>
#include <fcgiapp.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum {
    LISTENING_SOCKET = 3,
    /* FastCGI 1.0, 3.3 and 8: a record's content, its header, the type of an application's output. */
    RECORD_BYTES = 65528,
    HEADER_BYTES = 8,
    STDOUT = 6,
    SEND_BUFFER_BYTES = 416 << 10,
    /* The part of a body that is collected before it is passed on. */
    CHUNK_BYTES = 64 << 10,
};

/* One thread's transfer. Downloaded bytes are collected into whole records. */
struct transfer {
    FCGX_Request request;
    EVP_MD_CTX *digest;
    CURL *cloud;
    char record[HEADER_BYTES + RECORD_BYTES];
    size_t collected;
};

static atomic_long uploads_in_progress, received_bytes;

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (value != NULL) return value;
    fprintf(stderr, "%s is not set\n", name);
    exit(2);
}

static const char *parameter(struct transfer *transfer, const char *name) {
    const char *value = FCGX_GetParam(name, transfer->request.envp);
    return value == NULL ? "" : value;
}

/* Sends the collected bytes without libfcgi, whose stream has a buffer of 8 KiB; false if nginx is gone. */
static bool send_record(struct transfer *transfer) {
    size_t count = transfer->collected, length = HEADER_BYTES + count;
    char *record = transfer->record;
    uint16_t number = (uint16_t)transfer->request.requestId;
    char header[HEADER_BYTES] = {
        1, STDOUT, (char)(number >> 8), (char)number, (char)(count >> 8), (char)count, 0, 0};
    memcpy(record, header, HEADER_BYTES);
    for (size_t sent = 0; sent < length;) {
        ssize_t now = send(transfer->request.ipcFd, record + sent, length - sent, MSG_NOSIGNAL);
        if (now < 0) return false;
        sent += (size_t)now;
    }
    transfer->collected = 0;
    return true;
}

static size_t take_down(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    size_t length = size * count;
    EVP_DigestUpdate(transfer->digest, bytes, length);
    if (transfer->collected + length > RECORD_BYTES && !send_record(transfer)) return 0;
    memcpy(transfer->record + HEADER_BYTES + transfer->collected, bytes, length);
    transfer->collected += length;
    return length;
}

static size_t take_nothing(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static size_t give_up(char *bytes, size_t size, size_t count, void *context) {
    struct transfer *transfer = context;
    size_t wanted = size * count < CHUNK_BYTES ? size * count : CHUNK_BYTES;
    int given = FCGX_GetStr(bytes, (int)wanted, transfer->request.in);
    // The phone has hung up: libcurl does not ask for more than was announced.
    if (given <= 0) return CURL_READFUNC_ABORT;
    EVP_DigestUpdate(transfer->digest, bytes, (size_t)given);
    received_bytes += given;
    return (size_t)given;
}

static void reset_cloud(struct transfer *transfer, struct curl_slist *address, struct curl_slist *headers) {
    CURL *cloud = transfer->cloud;
    char url[4096];
    snprintf(url, sizeof url, "https://www.googleapis.com%s", parameter(transfer, "REQUEST_URI"));
    curl_easy_reset(cloud);
    curl_easy_setopt(cloud, CURLOPT_CONNECT_TO, address);
    curl_easy_setopt(cloud, CURLOPT_CAINFO, variable("CLOUD_CA"));
    curl_easy_setopt(cloud, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(cloud, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(cloud, CURLOPT_URL, url);
    curl_easy_setopt(cloud, CURLOPT_HTTPHEADER, headers);
}

/* Returns Drive's status, or 0. */
static long pass_on(struct transfer *transfer, bool is_up) {
    CURL *cloud = transfer->cloud;
    EVP_DigestInit_ex(transfer->digest, is_up ? EVP_md5() : EVP_sha256(), NULL);
    if (is_up) {
        curl_easy_setopt(cloud, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(cloud, CURLOPT_UPLOAD_BUFFERSIZE, 524288L);
        curl_easy_setopt(cloud, CURLOPT_INFILESIZE_LARGE, (curl_off_t)atoll(parameter(transfer, "CONTENT_LENGTH")));
        curl_easy_setopt(cloud, CURLOPT_READFUNCTION, give_up);
        curl_easy_setopt(cloud, CURLOPT_READDATA, transfer);
        curl_easy_setopt(cloud, CURLOPT_WRITEFUNCTION, take_nothing);
    } else {
        curl_easy_setopt(cloud, CURLOPT_WRITEFUNCTION, take_down);
        curl_easy_setopt(cloud, CURLOPT_WRITEDATA, transfer);
    }
    CURLcode code = curl_easy_perform(cloud);
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_DigestFinal_ex(transfer->digest, digest, NULL);
    if (code != CURLE_OK) {
        fprintf(stderr, "Drive did not reply: %s\n", curl_easy_strerror(code));
        return 0;
    }
    long status = 0;
    curl_easy_getinfo(cloud, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static void answer(struct transfer *transfer, struct curl_slist *address) {
    char authorization[4096];
    snprintf(authorization, sizeof authorization, "Authorization: %s", parameter(transfer, "HTTP_AUTHORIZATION"));
    struct curl_slist *headers = curl_slist_append(NULL, authorization);
    headers = curl_slist_append(headers, "Expect:");
    reset_cloud(transfer, address, headers);
    if (strcmp(parameter(transfer, "REQUEST_METHOD"), "PUT") == 0) {
        uploads_in_progress++;
        FCGX_FPrintF(transfer->request.out, "Status: %d\r\n\r\n", (int)pass_on(transfer, true));
        uploads_in_progress--;
    } else if (strcmp(parameter(transfer, "REQUEST_URI"), "/counters") == 0) {
        char text[64];
        snprintf(text, sizeof text, "%ld %ld\n", (long)uploads_in_progress, (long)received_bytes);
        FCGX_FPrintF(transfer->request.out, "Content-Type: text/plain\r\n\r\n%s", text);
    } else {
        int bytes = SEND_BUFFER_BYTES;
        setsockopt(transfer->request.ipcFd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        FCGX_FPrintF(transfer->request.out, "Status: 200\r\ncontent-type: application/octet-stream\r\n\r\n");
        FCGX_FFlush(transfer->request.out);
        transfer->collected = 0;
        pass_on(transfer, false);
        if (transfer->collected > 0) send_record(transfer);
    }
    curl_slist_free_all(headers);
}

static void *work(void *address) {
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (transfer == NULL) abort();
    transfer->cloud = curl_easy_init();
    transfer->digest = EVP_MD_CTX_new();
    if (transfer->cloud == NULL || transfer->digest == NULL) abort();
    FCGX_InitRequest(&transfer->request, LISTENING_SOCKET, 0);
    while (FCGX_Accept_r(&transfer->request) == 0) {
        answer(transfer, address);
        FCGX_Finish_r(&transfer->request);
    }
    return NULL;
}

/* Two connections for each thread may exceed the usual descriptor limit of a process. */
static void allow_descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: transfers THREADS\n");
        return 2;
    }
    char text[256];
    snprintf(text, sizeof text, "::%s", variable("CLOUD_ADDRESS"));
    struct curl_slist *address = curl_slist_append(NULL, text);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    FCGX_Init();
    // Whose own handler wakes only one thread.
    signal(SIGTERM, SIG_DFL);
    allow_descriptors();
    pthread_t thread;
    for (int i = atoi(arguments[1]); i > 0; i--) {
        if (pthread_create(&thread, NULL, work, address) != 0) return 1;
    }
    pthread_join(thread, NULL);
    return 0;
}
