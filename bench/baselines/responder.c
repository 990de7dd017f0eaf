/* The cost of HealthCheck and Index in a C program: the same library behind the same nginx, the same queries, the same
 * reply bytes, and nothing else: no sign-in, no permissions, no log.
 *
 * usage: responder THREADS USER_ID      inherits the listening socket as descriptor 3, reads the database from the environment
 *
 * Each thread has its own connection and request. Index is for the user named on the command line.
 */
#include "connection.h"

#include <fcgiapp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LISTENING_SOCKET = 3, FILE_COLUMNS = 11 };

static struct database database;
static long long user_id;
static struct timespec process_start;

/* A query with at most two parameters, and space for one row. */
struct query {
    MYSQL_STMT *statement;
    MYSQL_BIND parameters[2], results[FILE_COLUMNS];
    struct field inputs[2], columns[FILE_COLUMNS];
    int column_count;
};

struct worker {
    MYSQL *connection;
    struct query check, version, files, members, groups;
    char *reply;
    size_t length, capacity;
};

/* `kinds` has a letter for each column: t for text, n for a number. */
static void prepare_query(
    struct query *query, MYSQL *connection, const char *sql, const char *parameter_kinds, const char *kinds) {
    query->statement = prepare(connection, sql);
    for (int i = 0; parameter_kinds[i] != 0; i++) {
        (parameter_kinds[i] == 't' ? bind_text : bind_number)(&query->parameters[i], &query->inputs[i]);
    }
    if (parameter_kinds[0] != 0) mysql_stmt_bind_param(query->statement, query->parameters);
    query->column_count = (int)strlen(kinds);
    for (int i = 0; i < query->column_count; i++) {
        (kinds[i] == 't' ? bind_text : bind_number)(&query->results[i], &query->columns[i]);
    }
    mysql_stmt_bind_result(query->statement, query->results);
}

static void run(struct query *query) {
    if (mysql_stmt_execute(query->statement) != 0) fail_statement(query->statement);
}

static bool next_row(struct query *query) {
    int status = mysql_stmt_fetch(query->statement);
    if (status == MYSQL_NO_DATA) {
        mysql_stmt_free_result(query->statement);
        return false;
    }
    if (status != 0) fail_statement(query->statement);
    return true;
}

static void reserve(struct worker *worker, size_t bytes) {
    if (worker->length + bytes <= worker->capacity) return;
    worker->capacity = (worker->length + bytes) * 2;
    worker->reply = realloc(worker->reply, worker->capacity);
    if (worker->reply == NULL) abort();
}

static void append(struct worker *worker, const char *bytes, size_t count) {
    reserve(worker, count);
    memcpy(worker->reply + worker->length, bytes, count);
    worker->length += count;
}

#define LITERAL(worker, text) append(worker, text, sizeof text - 1)

static void append_number(struct worker *worker, long long number) {
    reserve(worker, 24);
    worker->length += (size_t)snprintf(worker->reply + worker->length, 24, "%lld", number);
}

static void append_text(struct worker *worker, const char *text, size_t count) {
    reserve(worker, count * 6 + 2);
    char *out = worker->reply + worker->length;
    *out++ = '"';
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            *out++ = '\\';
            *out++ = (char)c;
        } else if (c < 0x20) {
            out += sprintf(out, "\\u%04x", c);
        } else {
            *out++ = (char)c;
        }
    }
    *out++ = '"';
    worker->length = (size_t)(out - worker->reply);
}

static void append_field(struct worker *worker, const struct field *field) {
    append_text(worker, field->text, field->length);
}

static void check_health(struct worker *worker) {
    run(&worker->check);
    while (next_row(&worker->check)) {}
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct tm utc;
    gmtime_r(&now.tv_sec, &utc);
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc);
    clock_gettime(CLOCK_MONOTONIC, &now);
    double uptime =
        (double)(now.tv_sec - process_start.tv_sec) + (double)(now.tv_nsec - process_start.tv_nsec) / 1e9;
    reserve(worker, 256);
    worker->length += (size_t)snprintf(
        worker->reply + worker->length, 256,
        "{\"currentServerDateTime\":\"%s\",\"serverUptime\":%.9f,\"deployedGitTag\":\"1.0.0\"}", date, uptime);
}

static void write_files(struct worker *worker, long long group_id, const char *group) {
    struct query *files = &worker->files;
    const struct field *column = files->columns;
    size_t group_length = strlen(group);
    bool is_first = true;
    files->inputs[0].number = group_id;
    run(files);
    while (next_row(files)) {
        if (!is_first) LITERAL(worker, ",");
        is_first = false;
        LITERAL(worker, "{\"fileUUID\":");
        append_field(worker, &column[0]);
        LITERAL(worker, ",\"deviceUUID\":");
        append_field(worker, &column[1]);
        if (!column[2].is_null) {
            LITERAL(worker, ",\"fileGroupUUID\":");
            append_field(worker, &column[2]);
        }
        LITERAL(worker, ",\"sharingGroupUUID\":");
        append_text(worker, group, group_length);
        LITERAL(worker, ",\"creationDate\":");
        append_field(worker, &column[3]);
        LITERAL(worker, ",\"updateDate\":");
        append_field(worker, &column[4]);
        LITERAL(worker, ",\"mimeType\":");
        append_field(worker, &column[5]);
        LITERAL(worker, ",\"deleted\":");
        if (column[6].number) LITERAL(worker, "true");
        else LITERAL(worker, "false");
        if (!column[7].is_null) {
            LITERAL(worker, ",\"appMetaDataVersion\":");
            append_number(worker, column[7].number);
        }
        LITERAL(worker, ",\"fileVersion\":");
        append_number(worker, column[8].number);
        LITERAL(worker, ",\"owningUserId\":");
        append_number(worker, column[9].number);
        LITERAL(worker, ",\"cloudStorageType\":");
        append_field(worker, &column[10]);
        LITERAL(worker, "}");
    }
}

/* Groups with one member each, as the benchmark creates them. */
static void write_groups(struct worker *worker) {
    struct query *members = &worker->members, *groups = &worker->groups;
    members->inputs[0].number = user_id;
    run(members);
    char name[512] = "";
    size_t name_length = 0;
    while (next_row(members)) {
        name_length = members->columns[2].length;
        memcpy(name, members->columns[2].text, name_length);
    }
    groups->inputs[0].number = user_id;
    run(groups);
    bool is_first = true;
    while (next_row(groups)) {
        if (!is_first) LITERAL(worker, ",");
        is_first = false;
        LITERAL(worker, "{\"sharingGroupUUID\":");
        append_field(worker, &groups->columns[1]);
        if (!groups->columns[2].is_null) {
            LITERAL(worker, ",\"sharingGroupName\":");
            append_field(worker, &groups->columns[2]);
        }
        LITERAL(worker, ",\"deleted\":false,\"masterVersion\":");
        append_number(worker, groups->columns[3].number);
        LITERAL(worker, ",\"permission\":");
        append_field(worker, &groups->columns[4]);
        LITERAL(worker, ",\"sharingGroupUsers\":[{\"name\":");
        append_text(worker, name, name_length);
        LITERAL(worker, ",\"userId\":");
        append_number(worker, user_id);
        LITERAL(worker, "}]}");
    }
}

static void write_index(struct worker *worker, const char *query_string) {
    char group[64] = "";
    sscanf(query_string, "sharingGroupUUID=%63[^&]", group);
    set_text(&worker->version.inputs[0], group);
    worker->version.inputs[1].number = user_id;
    run(&worker->version);
    long long group_id = 0, version = 0;
    while (next_row(&worker->version)) {
        group_id = worker->version.columns[0].number;
        version = worker->version.columns[1].number;
    }
    LITERAL(worker, "{\"masterVersion\":");
    append_number(worker, version);
    LITERAL(worker, ",\"fileIndex\":[");
    write_files(worker, group_id, group);
    LITERAL(worker, "],\"sharingGroups\":[");
    write_groups(worker);
    LITERAL(worker, "]}");
}

static void prepare_worker(struct worker *worker) {
    MYSQL *connection = worker->connection = connect_database(&database);
    prepare_query(&worker->check, connection, "SELECT 1", "", "n");
    prepare_query(
        &worker->version, connection,
        "SELECT g.sharing_group_id, g.master_version FROM sharing_groups g JOIN memberships m"
        " ON m.sharing_group_id = g.sharing_group_id WHERE g.sharing_group_uuid = ? AND m.user_id = ?",
        "tn", "nn");
    prepare_query(
        &worker->files, connection,
        "SELECT file_uuid, device_uuid, file_group_uuid, created_at, updated_at, mime_type, is_deleted,"
        " app_metadata_version, file_version, owning_user_id, storage_type FROM files"
        " WHERE sharing_group_id = ? ORDER BY file_uuid",
        "n", "ttttttnnnnt");
    prepare_query(
        &worker->members, connection,
        "SELECT m.sharing_group_id, u.user_id, u.display_name FROM memberships mine"
        " JOIN memberships m ON m.sharing_group_id = mine.sharing_group_id JOIN users u ON u.user_id = m.user_id"
        " WHERE mine.user_id = ? ORDER BY m.sharing_group_id, u.user_id",
        "n", "nnt");
    prepare_query(
        &worker->groups, connection,
        "SELECT g.sharing_group_id, g.sharing_group_uuid, g.name, g.master_version, m.permission, o.account_type"
        " FROM memberships m JOIN sharing_groups g ON g.sharing_group_id = m.sharing_group_id"
        " LEFT JOIN users o ON o.user_id = m.owning_user_id"
        " WHERE m.user_id = ? AND NOT g.is_deleted ORDER BY g.sharing_group_id",
        "n", "nttntt");
}

static void *work(void *unused) {
    (void)unused;
    mysql_thread_init();
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) abort();
    prepare_worker(worker);
    FCGX_Request request;
    FCGX_InitRequest(&request, LISTENING_SOCKET, 0);
    while (FCGX_Accept_r(&request) == 0) {
        const char *path = FCGX_GetParam("DOCUMENT_URI", request.envp);
        const char *query_string = FCGX_GetParam("QUERY_STRING", request.envp);
        worker->length = 0;
        if (path != NULL && strncmp(path, "/Index", 6) == 0) write_index(worker, query_string ? query_string : "");
        else check_health(worker);
        FCGX_FPrintF(
            request.out,
            "Status: 200\r\nsyncserver-version: 1.0.0\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n",
            (int)worker->length);
        FCGX_PutStr(worker->reply, (int)worker->length, request.out);
        FCGX_Finish_r(&request);
    }
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: responder THREADS USER_ID\n");
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &process_start);
    database = read_database();
    user_id = atoll(arguments[2]);
    mysql_library_init(0, NULL, NULL);
    FCGX_Init();
    // Whose own handler wakes only one thread.
    signal(SIGTERM, SIG_DFL);
    int threads = atoi(arguments[1]);
    pthread_t thread;
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    }
    pthread_join(thread, NULL);
    return 0;
}
