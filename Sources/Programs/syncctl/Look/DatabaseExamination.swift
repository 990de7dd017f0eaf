import Configuration
import MariaDB
import Operations
import Posix
import Providers
import Store
import SyncProtocol
import Vault

/// The checks that need the database: schema, accounts, clock, keys, work.
struct DatabaseExamination {
    /// The time limit for one reply of the database: `doctor` must answer within seconds.
    private static let patience: Duration = .seconds(4)

    private let configuration: ServerConfiguration
    private let options: CommonOptions

    init(_ configuration: ServerConfiguration, _ options: CommonOptions) {
        self.configuration = configuration
        self.options = options
    }

    /// Whether the database is on this host.
    var isHere: Bool {
        switch configuration.database.address {
        case .unixSocket: true
        case .tcp(let host, _): ["localhost", "127.0.0.1", "::1"].contains(host)
        }
    }

    func examine() -> [Diagnosis] {
        do {
            let installation = try Installation(options, patience: Self.patience)
            let sealer = try installation.sealer()
            let now = installation.now
            let seen = try installation.store.withSession { session in
                (
                    clock: try session.clockMilliseconds(), own: WallClock.millisecondsSince1970(),
                    outbox: try session.outboxOverview(at: now),
                    keys: try SealingKeyCheck(&session), schema: try session.schema(),
                    closed: try session.maintenanceNotice(), rebuild: try session.rebuildProgress()
                )
            }
            var full: Diagnosis?
            let roles = RoleAccounts.diagnoses(configuration) { error, settings in
                guard case .unavailable(let cause) = error else { return nil }
                full = full ?? shortage(cause, of: settings)
                return full
            }
            if let full { return closed(seen.closed) + [full] }
            return closed(seen.closed) + [
                .good("database", "the database answers: \(installation.databaseDescription)"),
                SchemaCheck.judge(seen.schema),
                ClockCheck.database(ownMilliseconds: seen.own, databaseMilliseconds: seen.clock),
                seen.keys.judge(sealer), JobsCheck.judge(seen.outbox),
            ] + [seen.rebuild?.diagnosis].compactMap(\.self) + roles
        } catch let error as MigrationError {
            // During an upgrade, the administrator has usually closed the server.
            return closed(notice(as: configuration.database)) + [
                .good("database", "the database answers"),
                Diagnosis(
                    .schemaDiffers, "\(error)", fix: "syncctl migrate, unless the release is older than the schema"),
            ]
        } catch {
            let failure = CommandFailure(error)
            let path = options.file.path
            let cause: MariaDBError? =
                switch error {
                case StoreError.unavailable(let cause): cause
                default: error as? MariaDBError
                }
            if let cause, let shortage = shortage(cause, of: configuration.database) {
                return closed(administrator.flatMap(notice)) + [shortage]
            }
            // The check of writes finds the holder of the lock.
            if case StoreError.contention = error { return closed(notice(as: configuration.database)) }
            return [
                failure?.status == .noPermission
                    ? Diagnosis(
                        .databaseDenied, failure?.message ?? "",
                        fix: "compare database.user in \(path) and the password's file with MariaDB: mariadb -e 'SHOW "
                            + "GRANTS FOR USER@HOST'")
                    : Diagnosis(
                        .databaseUnavailable, failure?.message ?? "\(error)",
                        fix: (isHere ? "systemctl restart mariadb; " : "")
                            + "journalctl -u mariadb -n 50; database.* in \(path)")
            ]
        }
    }

    /// Reads the maintenance notice, with any schema; returns `nil` if there is none, or if the read fails.
    private func notice(as account: ConnectionSettings) -> MaintenanceNotice? {
        var settings = account
        (settings.connectTimeout, settings.readTimeout) = (Self.patience / 4, Self.patience / 4)
        do throws(StoreError) {
            var database = try MaintenanceSwitch(settings)
            return try database.notice()
        } catch {
            return nil
        }
    }

    private func closed(_ notice: MaintenanceNotice?) -> [Diagnosis] {
        guard let notice else { return [] }
        return [
            Diagnosis(
                .maintenanceOn, "all hosts have been closed for maintenance since \(notice.since): \"\(notice.text)\"",
                fix: "syncctl maintenance off")
        ]
    }

    // MARK: Who uses it

    /// The finding if an account gets no connection because there are too many; `nil` for other errors.
    private func shortage(_ error: MariaDBError, of settings: ConnectionSettings) -> Diagnosis? {
        switch ConnectionsCheck.Shortage(error) {
        case .ofServer?: full
        case .ofAccount(let option)?: ConnectionsCheck.limited(settings, option)
        case nil: nil
        }
    }

    private var full: Diagnosis {
        var socket: String?
        if case .unixSocket(let path) = configuration.database.address { socket = path }
        let users = accounts.map(\.settings.user) + [configuration.database.user]
        return ConnectionsCheck(ownUsers: users, socket: socket, administrator: administrator)
            .examine(within: Self.patience)
    }

    /// The accounts of the roles, or the one that they share.
    private var accounts: [(role: ServerRole?, settings: ConnectionSettings)] {
        let roles = configuration.roleAccounts
        let accounts = ServerRole.allCases.compactMap { role in roles[role].map { (role: Optional(role), settings: $0) }
        }
        return accounts.isEmpty ? [(role: nil, settings: configuration.database)] : accounts
    }

    /// MariaDB accepts root through the socket.
    private var administrator: ConnectionSettings? {
        guard Terminal.isRoot, case .unixSocket = configuration.database.address else { return nil }
        var root = configuration.database
        (root.user, root.password) = ("root", "")
        return root
    }

    /// Whether the roles can write.
    func writes() -> [Diagnosis] {
        ClientLibrary.initialize()
        return WritesCheck(accounts, owner: configuration.database, administrator: administrator).examine()
    }

    /// The folders in which a database on this host keeps its files.
    func places(notes: String) -> [DiskCheck.Place] {
        guard isHere else { return [] }
        ClientLibrary.initialize()
        return DatabaseFolders(notes: notes).find([administrator, configuration.database].compactMap(\.self)).map {
            DiskCheck.Place($0, .database)
        }
    }
}
