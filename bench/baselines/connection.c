#include "connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *required(const char *name) {
    const char *value = getenv(name);
    if (value == NULL) {
        fprintf(stderr, "%s is not set\n", name);
        exit(2);
    }
    return value;
}

struct database read_database(void) {
    return (struct database){required("DB_SOCKET"), required("DB_USER"), required("DB_PASSWORD"), required("DB_NAME")};
}

MYSQL *connect_database(const struct database *database) {
    MYSQL *connection = mysql_init(NULL);
    mysql_optionsv(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(connection, MYSQL_INIT_COMMAND, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    if (mysql_real_connect(
            connection, "localhost", database->user, database->password, database->name, 0, database->socket, 0) ==
        NULL) {
        fprintf(stderr, "cannot connect: %s\n", mysql_error(connection));
        exit(1);
    }
    return connection;
}

void fail_statement(MYSQL_STMT *statement) {
    fprintf(stderr, "statement failed: %u %s\n", mysql_stmt_errno(statement), mysql_stmt_error(statement));
    exit(1);
}

MYSQL_STMT *prepare(MYSQL *connection, const char *sql) {
    MYSQL_STMT *statement = mysql_stmt_init(connection);
    if (mysql_stmt_prepare(statement, sql, strlen(sql)) != 0) fail_statement(statement);
    return statement;
}

void bind_text(MYSQL_BIND *bind, struct field *field) {
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = field->text;
    bind->buffer_length = sizeof field->text;
    bind->length = &field->length;
    bind->is_null = &field->is_null;
}

void bind_number(MYSQL_BIND *bind, struct field *field) {
    bind->buffer_type = MYSQL_TYPE_LONGLONG;
    bind->buffer = &field->number;
    bind->is_null = &field->is_null;
}

void set_text(struct field *field, const char *text) {
    field->length = (unsigned long)snprintf(field->text, sizeof field->text, "%s", text);
    field->is_null = 0;
}
