/* The lower bound of the cost of a commit: a loop of transactions that raise a group's master version and insert one
 * file row.
 *
 * usage: commits SECONDS GROUP_ID...     one thread for each GROUP_ID; prints commits per second
 *
 * The tables are syncd's, in the same database and with the same durability. A group may be named repeatedly.
 */
#include "loop.h"

static void work(MYSQL *connection, long long group_id) {
    MYSQL_STMT *raise = prepare(
        connection, "UPDATE sharing_groups SET master_version = master_version + 1 WHERE sharing_group_id = ?");
    MYSQL_STMT *insert = prepare(
        connection,
        "INSERT INTO files (sharing_group_id, file_uuid, file_group_uuid, owning_user_id, storage_type, device_uuid,"
        " created_at, updated_at, mime_type, file_version, check_sum, sha256, size_bytes, object_id,"
        " changed_at_master_version)"
        " VALUES (?, ?, ?, 1, 'Google', ?, NOW(), NOW(), 'text/plain', 0, MD5('x'), UNHEX(SHA2('x', 256)), 1024, ?,"
        " 1)");
    struct field group = {.number = group_id}, uuid, file_group, device, object;
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
    do {
        new_uuid(&uuid);
        new_uuid(&file_group);
        new_uuid(&object);
        run_text(connection, "START TRANSACTION");
        run_prepared(raise);
        run_prepared(insert);
        run_text(connection, "COMMIT");
    } while (next_round());
}

int main(int count, char **arguments) { return run_loop(count, arguments, work); }
