/// Where the database is, the account, and the timeouts.
public struct ConnectionSettings: Sendable {
    /// The address of the server.
    public enum Address: Sendable, Equatable, CustomStringConvertible {
        /// A unix socket of this machine, by its path.
        case unixSocket(path: String)
        /// A TCP port; connections are encrypted if the server offers it.
        case tcp(host: String, port: UInt16)

        /// As an operator writes it: the socket's path, or `host:port`.
        public var description: String {
            switch self {
            case .unixSocket(let path): path
            case .tcp(let host, let port): "\(host):\(port)"
            }
        }
    }

    /// The address of the server.
    public var address: Address
    /// The database account's name.
    public var user: String
    /// The account's password; empty if the server authenticates us by our unix user. Never printed.
    public var password: String
    /// The default database for unqualified table names; nil for none.
    public var database: String?
    /// Maximum wait for connecting, including the handshake; rounded up to whole seconds, at least 1.
    public var connectTimeout: Duration
    /// Maximum wait for the next bytes of a reply, and for space to send; rounded up to whole seconds, at least 1. A
    /// statement that runs longer than this without a reply fails with ``MariaDBError/unavailable(code:message:)``.
    public var readTimeout: Duration
    /// Maximum wait of one statement for a row lock (`innodb_lock_wait_timeout`); rounded up to whole seconds, at least
    /// 1. After that the statement fails with ``MariaDBError/contention(code:message:)``. Keep it below
    /// ``readTimeout``.
    public var lockWaitTimeout: Duration

    /// Creates settings for a server at `address`; by default 5 s to connect, 20 s for a reply, 5 s for a lock.
    public init(
        address: Address, user: String, password: String, database: String?, connectTimeout: Duration = .seconds(5),
        readTimeout: Duration = .seconds(20), lockWaitTimeout: Duration = .seconds(5)
    ) {
        self.address = address
        self.user = user
        self.password = password
        self.database = database
        self.connectTimeout = connectTimeout
        self.readTimeout = readTimeout
        self.lockWaitTimeout = lockWaitTimeout
    }
}

extension ConnectionSettings: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Database, address and user, for operators; no password.
    public var description: String { "\(database ?? "(no database)") at \(address) as \(user)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// Everything except the password, so that `dump` of an enclosing type does not print it.
    public var customMirror: Mirror {
        Mirror(self, children: ["address": address, "user": user, "database": database as Any])
    }
}

extension Duration {
    /// Whole seconds, rounded up, at least 1: the unit of libmariadb's and the server's timeouts.
    var wholeSeconds: UInt32 {
        let (seconds, attoseconds) = components
        return UInt32(clamping: max(1, attoseconds > 0 ? seconds + 1 : seconds))
    }
}
