internal import CMariaDB

extension Connection {
    /// Sets all options that must be set before connecting (mysql_optionsv(3)); these calls cannot fail.
    static func configure(_ handle: UnsafeMutablePointer<MYSQL>, _ settings: ConnectionSettings) {
        let connectSeconds = settings.connectTimeout.wholeSeconds
        let readSeconds = settings.readTimeout.wholeSeconds
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_CONNECT_TIMEOUT, connectSeconds)
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_READ_TIMEOUT, readSeconds)
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_WRITE_TIMEOUT, readSeconds)
        _ = unsafe shim_mysql_option_uint(handle, MYSQL_OPT_LOCAL_INFILE, 0)
        _ = unsafe shim_mysql_option_bool(handle, MYSQL_OPT_RECONNECT, 0)
        _ = unsafe shim_mysql_option_bool(handle, MYSQL_REPORT_DATA_TRUNCATION, 1)
        _ = unsafe shim_mysql_option_string(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4")
        // wsrep_sync_wait: a node of a Galera cluster first applies what was committed on the other nodes, before reads
        // (1), updates and deletions (2) and insertions (4), so that each request sees what the previous one did on
        // another node; without a cluster it has no effect ("Galera Cluster System Variables" of MariaDB). The library
        // runs these right after the handshake; if one fails, connecting fails.
        let commands = [
            "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
            """
            SET time_zone = '+00:00',
                sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
                autocommit = 1,
                innodb_lock_wait_timeout = \(settings.lockWaitTimeout.wholeSeconds),
                wsrep_sync_wait = 7
            """,
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        ]
        for command in commands {
            _ = unsafe shim_mysql_option_string(handle, MYSQL_INIT_COMMAND, command)
        }
    }

    /// Connects the handle (mysql_real_connect(3)).
    static func connect(
        _ handle: UnsafeMutablePointer<MYSQL>, _ settings: ConnectionSettings
    ) throws(MariaDBError) {
        let connected =
            switch settings.address {
            case .unixSocket(let path):
                unsafe mysql_real_connect(
                    handle, "localhost", settings.user, settings.password, settings.database, 0, path, 0)
            case .tcp(let host, let port):
                unsafe mysql_real_connect(
                    handle, host, settings.user, settings.password, settings.database, UInt32(port), nil, 0)
            }
        guard unsafe connected != nil else {
            throw unsafe MariaDBError(code: mysql_errno(handle), message: String(cString: mysql_error(handle)))
        }
    }
}
