/* The lower bound of the cost of a durable cycle of upload and commit: the intent, the upload of 1 KiB to the
 * emulated Drive, the staged row, the commit.
 *
 * usage: cycles SECONDS GROUP_ID...     one thread for each GROUP_ID; prints cycles per second
 *
 * Three durable transactions that contain only the required writes and the comparison of master versions, and one
 * request to the cloud over a persistent TLS connection: no server, no sign-in, no permission, no check of the existing
 * state. A thread whose master version changed while uploading discards the upload and starts over.
 * CLOUD_ADDRESS (host:port) and CLOUD_CA describe the cloud, ACCESS_TOKEN the account.
 */
#include "loop.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char url[] =
    "https://www.googleapis.com/upload/drive/v3/files?uploadType=multipart&fields=id,size,md5Checksum";

/* A thread's values, bound by all its statements, and the statements. */
struct cycle {
    struct field group, uuid, file_group, device, object, intent, version;
    MYSQL_STMT *read, *intend, *hold, *stage, *forget, *raise, *insert, *unstage;
};

/* `kinds` names the values: g the group, u the file, f its file group, d the device, o the object, i the intent,
 * v the master version. */
static MYSQL_STMT *prepare_bound(MYSQL *connection, struct cycle *cycle, const char *sql, const char *kinds) {
    MYSQL_STMT *statement = prepare(connection, sql);
    MYSQL_BIND binds[8] = {0};
    for (int i = 0; kinds[i] != 0; i++) {
        switch (kinds[i]) {
        case 'g': bind_number(&binds[i], &cycle->group); break;
        case 'v': bind_number(&binds[i], &cycle->version); break;
        case 'i': bind_number(&binds[i], &cycle->intent); break;
        case 'u': bind_text(&binds[i], &cycle->uuid); break;
        case 'f': bind_text(&binds[i], &cycle->file_group); break;
        case 'd': bind_text(&binds[i], &cycle->device); break;
        default: bind_text(&binds[i], &cycle->object); break;
        }
    }
    if (mysql_stmt_bind_param(statement, binds) != 0) fail_statement(statement);
    return statement;
}

static void prepare_cycle(MYSQL *connection, struct cycle *cycle) {
    cycle->read = prepare_bound(
        connection, cycle, "SELECT master_version FROM sharing_groups WHERE sharing_group_id = ?", "g");
    cycle->hold = prepare_bound(
        connection, cycle,
        "SELECT master_version FROM sharing_groups WHERE sharing_group_id = ? LOCK IN SHARE MODE", "g");
    cycle->intend = prepare_bound(
        connection, cycle,
        "INSERT INTO outbox (kind, user_id, storage_type, object_id, object_name, available_at, lease_owner,"
        " created_at) VALUES ('deleteObject', 1, 'Google', ?, ?, NOW() + INTERVAL 90 SECOND, ?, NOW())",
        "oud");
    cycle->stage = prepare_bound(
        connection, cycle,
        "INSERT INTO staged_changes (user_id, device_uuid, sharing_group_id, file_uuid, kind, file_group_uuid,"
        " created_at, updated_at, mime_type, file_version, check_sum, sha256, size_bytes, owning_user_id, storage_type,"
        " object_id, staged_at)"
        " VALUES (1, ?, ?, ?, 'upload', ?, NOW(), NOW(), 'text/plain', 0, MD5('x'), UNHEX(SHA2('x', 256)), 1024, 1,"
        " 'Google', ?, NOW())",
        "dgufo");
    cycle->forget = prepare_bound(connection, cycle, "DELETE FROM outbox WHERE outbox_id = ?", "i");
    cycle->raise = prepare_bound(
        connection, cycle,
        "UPDATE sharing_groups SET master_version = master_version + 1 WHERE sharing_group_id = ?"
        " AND master_version = ?",
        "gv");
    cycle->insert = prepare_bound(
        connection, cycle,
        "INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,"
        " created_at, updated_at, mime_type, file_version, check_sum, sha256, size_bytes, object_id,"
        " changed_at_master_version)"
        " VALUES (?, ?, ?, 1, 'Google', ?, NOW(), NOW(), 'text/plain', 0, MD5('x'), UNHEX(SHA2('x', 256)), 1024, ?,"
        " 1)",
        "gufdo");
    cycle->unstage = prepare_bound(
        connection, cycle,
        "DELETE FROM staged_changes WHERE user_id = 1 AND device_uuid = ? AND sharing_group_id = ? AND file_uuid = ?",
        "dgu");
}

/* The number returned by a prepared query. */
static long long number(MYSQL_STMT *statement) {
    struct field column = {0};
    MYSQL_BIND bind[1] = {0};
    bind_number(bind, &column);
    run_prepared(statement);
    mysql_stmt_bind_result(statement, bind);
    if (mysql_stmt_fetch(statement) != 0) fail_statement(statement);
    mysql_stmt_free_result(statement);
    return column.number;
}

static size_t take_nothing(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (value != NULL) return value;
    fprintf(stderr, "%s is not set\n", name);
    exit(2);
}

static CURL *connect_cloud(void) {
    CURL *cloud = curl_easy_init();
    char text[4096];
    snprintf(text, sizeof text, "::%s", variable("CLOUD_ADDRESS"));
    curl_easy_setopt(cloud, CURLOPT_CONNECT_TO, curl_slist_append(NULL, text));
    curl_easy_setopt(cloud, CURLOPT_CAINFO, variable("CLOUD_CA"));
    curl_easy_setopt(cloud, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(cloud, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(cloud, CURLOPT_URL, url);
    curl_easy_setopt(cloud, CURLOPT_WRITEFUNCTION, take_nothing);
    snprintf(text, sizeof text, "Authorization: Bearer %s", variable("ACCESS_TOKEN"));
    struct curl_slist *headers = curl_slist_append(NULL, text);
    headers = curl_slist_append(headers, "Content-Type: multipart/related; boundary=part");
    curl_easy_setopt(cloud, CURLOPT_HTTPHEADER, curl_slist_append(headers, "Expect:"));
    return cloud;
}

static void upload(CURL *cloud, const struct field *name) {
    char contents[1025], body[2048];
    memset(contents, 'x', 1024);
    contents[1024] = 0;
    int length = snprintf(
        body, sizeof body,
        "--part\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{\"name\": \"%s.txt\"}"
        "\r\n--part\r\nContent-Type: text/plain\r\n\r\n%s\r\n--part--\r\n",
        name->text, contents);
    curl_easy_setopt(cloud, CURLOPT_POSTFIELDSIZE, (long)length);
    curl_easy_setopt(cloud, CURLOPT_POSTFIELDS, body);
    CURLcode code = curl_easy_perform(cloud);
    long status = 0;
    curl_easy_getinfo(cloud, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_OK && status == 200) return;
    fprintf(stderr, "the cloud rejected the file: %s, status %ld\n", curl_easy_strerror(code), status);
    exit(1);
}

/* Uploads and stages a file; false if the master version has changed meanwhile. */
static bool upload_and_stage(MYSQL *connection, struct cycle *cycle, CURL *cloud) {
    new_uuid(&cycle->uuid);
    new_uuid(&cycle->file_group);
    new_uuid(&cycle->object);
    cycle->version.number = number(cycle->read);
    run_prepared(cycle->intend);
    cycle->intent.number = (long long)mysql_stmt_insert_id(cycle->intend);
    upload(cloud, &cycle->uuid);
    run_text(connection, "START TRANSACTION");
    bool is_current = number(cycle->hold) == cycle->version.number;
    if (is_current) run_prepared(cycle->stage);
    run_prepared(cycle->forget);
    run_text(connection, "COMMIT");
    return is_current;
}

static void commit(MYSQL *connection, struct cycle *cycle) {
    for (;;) {
        run_text(connection, "START TRANSACTION");
        run_prepared(cycle->raise);
        if (mysql_stmt_affected_rows(cycle->raise) == 1) break;
        run_text(connection, "ROLLBACK");
        cycle->version.number = number(cycle->read);
    }
    run_prepared(cycle->insert);
    run_prepared(cycle->unstage);
    run_text(connection, "COMMIT");
}

static void work(MYSQL *connection, long long group_id) {
    struct cycle cycle = {.group = {.number = group_id}};
    new_uuid(&cycle.device);
    prepare_cycle(connection, &cycle);
    // As syncd's transactions: locks lie on rows, not on the gaps between them.
    run_text(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    CURL *cloud = connect_cloud();
    do {
        while (!upload_and_stage(connection, &cycle, cloud)) {}
        commit(connection, &cycle);
    } while (next_round());
    curl_easy_cleanup(cloud);
}

int main(int count, char **arguments) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return run_loop(count, arguments, work);
}
