#include "loop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAXIMUM_THREADS = 64 };

static struct database database;
static atomic_bool is_over;
static atomic_long rounds;
static void (*work_of_thread)(MYSQL *connection, long long group_id);

bool next_round(void) {
    atomic_fetch_add(&rounds, 1);
    return !atomic_load(&is_over);
}

void run_text(MYSQL *connection, const char *sql) {
    if (mysql_query(connection, sql) == 0) return;
    fprintf(stderr, "%s: %s\n", sql, mysql_error(connection));
    exit(1);
}

void run_prepared(MYSQL_STMT *statement) {
    if (mysql_stmt_execute(statement) != 0) fail_statement(statement);
}

void new_uuid(struct field *field) {
    unsigned char bytes[16];
    arc4random_buf(bytes, sizeof bytes);
    char text[40], *out = text;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
        out += sprintf(out, "%02X", bytes[i]);
    }
    set_text(field, text);
}

static void *run_thread(void *group_id) {
    mysql_thread_init();
    MYSQL *connection = connect_database(&database);
    work_of_thread(connection, *(long long *)group_id);
    mysql_close(connection);
    mysql_thread_end();
    return NULL;
}

int run_loop(int count, char **arguments, void (*work)(MYSQL *connection, long long group_id)) {
    int threads = count - 2;
    if (threads < 1 || threads > MAXIMUM_THREADS) {
        fprintf(stderr, "usage: %s SECONDS GROUP_ID...\n", arguments[0]);
        return 2;
    }
    database = read_database();
    mysql_library_init(0, NULL, NULL);
    work_of_thread = work;
    long long groups[MAXIMUM_THREADS];
    pthread_t handles[MAXIMUM_THREADS];
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < threads; i++) {
        groups[i] = atoll(arguments[i + 2]);
        if (pthread_create(&handles[i], NULL, run_thread, &groups[i]) != 0) return 1;
    }
    double seconds = atof(arguments[1]);
    struct timespec length = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&length, NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < threads; i++) pthread_join(handles[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("%.1f\n", (double)atomic_load(&rounds) / took);
    return 0;
}
