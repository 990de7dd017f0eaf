// MariaDB Connector/C (libmariadb).
#pragma once
#include <mysql.h>
#include <mysqld_error.h>
#include <errmsg.h>

/// mariadb_get_infov is variadic: the SERVER_STATUS_… bits of the last reply, 0 if unknown.
static inline unsigned int shim_mariadb_server_status(MYSQL *connection) {
    unsigned int status = 0;
    if (mariadb_get_infov(connection, MARIADB_CONNECTION_SERVER_STATUS, &status) != 0) return 0;
    return status;
}

/// mysql_library_init is a macro.
static inline int shim_mysql_library_init(void) { return mysql_server_init(0, 0, 0); }

/// mysql_options takes `const void *`: for options that read an `unsigned int`.
static inline int shim_mysql_option_uint(MYSQL *connection, enum mysql_option option, unsigned int value) {
    return mysql_options(connection, option, &value);
}

/// mysql_options takes `const void *`: for options that read a `my_bool`.
static inline int shim_mysql_option_bool(MYSQL *connection, enum mysql_option option, my_bool value) {
    return mysql_options(connection, option, &value);
}

/// mysql_options takes `const void *`: for options that read a C string, which the library copies.
static inline int shim_mysql_option_string(MYSQL *connection, enum mysql_option option, const char *value) {
    return mysql_options(connection, option, value);
}
