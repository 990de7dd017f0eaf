/* One connection to the benchmark's database, set up as syncd sets up its own, and statements on it. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <mysql.h>
#include <stdbool.h>
#include <stddef.h>

/* The database's address and account; read_database() reads them from the environment. */
struct database {
    const char *socket, *user, *password, *name;
};

/* Reads DB_SOCKET, DB_USER, DB_PASSWORD and DB_NAME; ends the program if one is missing. */
struct database read_database(void);

/* Connects or ends the program. */
MYSQL *connect_database(const struct database *database);

/* Prepares a statement (binary protocol) or ends the program. */
MYSQL_STMT *prepare(MYSQL *connection, const char *sql);

/* Ends the program with the statement's error. */
void fail_statement(MYSQL_STMT *statement);

/* A bound text or number; `is_null` and `length` are set by fetching. */
struct field {
    char text[512];
    long long number;
    unsigned long length;
    my_bool is_null;
};

void bind_text(MYSQL_BIND *bind, struct field *field);
void bind_number(MYSQL_BIND *bind, struct field *field);
void set_text(struct field *field, const char *text);

#endif
