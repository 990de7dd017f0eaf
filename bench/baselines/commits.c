/* What a commit costs at least: a loop of transactions that raise a group's master version and insert one file row.
 *
 * usage: commits SECONDS GROUP_ID...     one thread for each GROUP_ID; prints commits per second
 *
 * The tables are those of syncd, in the same database and with the same durability. A group may be named repeatedly.
 */
#include "connection.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct database database;
static atomic_bool is_over;
static atomic_long commits;

static void run(MYSQL *connection, const char *sql) {
    if (mysql_query(connection, sql) == 0) return;
    fprintf(stderr, "%s: %s\n", sql, mysql_error(connection));
    exit(1);
}

static void new_uuid(struct field *field) {
    unsigned char bytes[16];
    arc4random_buf(bytes, sizeof bytes);
    char text[40], *out = text;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
        out += sprintf(out, "%02X", bytes[i]);
    }
    set_text(field, text);
}

static void *work(void *argument) {
    mysql_thread_init();
    MYSQL *connection = connect_database(&database);
    MYSQL_STMT *raise = prepare(
        connection, "UPDATE sharing_groups SET master_version = master_version + 1 WHERE sharing_group_id = ?");
    MYSQL_STMT *insert = prepare(
        connection,
        "INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,"
        " created_at, updated_at, mime_type, file_version, check_sum, sha256, size_bytes, object_id,"
        " changed_at_master_version)"
        " VALUES (?, ?, ?, 1, 'Google', ?, NOW(), NOW(), 'text/plain', 0, MD5('x'), UNHEX(SHA2('x', 256)), 1024, ?,"
        " 1)");
    struct field group = {.number = *(long long *)argument}, uuid, file_group, device, object;
    new_uuid(&device);
    MYSQL_BIND group_bind[1] = {0}, row[5] = {0};
    bind_number(group_bind, &group);
    bind_number(&row[0], &group);
    bind_text(&row[1], &uuid);
    bind_text(&row[2], &file_group);
    bind_text(&row[3], &device);
    bind_text(&row[4], &object);
    mysql_stmt_bind_param(raise, group_bind);
    mysql_stmt_bind_param(insert, row);
    while (!atomic_load(&is_over)) {
        new_uuid(&uuid);
        new_uuid(&file_group);
        new_uuid(&object);
        run(connection, "START TRANSACTION");
        if (mysql_stmt_execute(raise) != 0) fail_statement(raise);
        if (mysql_stmt_execute(insert) != 0) fail_statement(insert);
        run(connection, "COMMIT");
        atomic_fetch_add(&commits, 1);
    }
    mysql_close(connection);
    mysql_thread_end();
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 3 || count > 66) {
        fprintf(stderr, "usage: commits SECONDS GROUP_ID...\n");
        return 2;
    }
    database = read_database();
    mysql_library_init(0, NULL, NULL);
    double seconds = atof(arguments[1]);
    long long groups[64];
    pthread_t threads[64];
    for (int i = 0; i < count - 2; i++) {
        groups[i] = atoll(arguments[i + 2]);
        if (pthread_create(&threads[i], NULL, work, &groups[i]) != 0) return 1;
    }
    struct timespec length = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)}, start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    nanosleep(&length, NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < count - 2; i++) pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double took = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("%.1f\n", (double)atomic_load(&commits) / took);
    return 0;
}
