import Configuration
import MariaDB
import Operations
import Posix
import Providers
import Store
import Vault

/// The checks that need the database: schema, accounts, clock, keys, work, disk.
struct DatabaseExamination {
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
            let installation = try Installation(options)
            let sealer = try installation.sealer()
            let now = installation.now
            let seen = try installation.store.withSession { session in
                (
                    clock: try session.clockMilliseconds(), own: WallClock.millisecondsSince1970(),
                    outbox: try session.outboxOverview(at: now), folder: try session.dataFolder(),
                    keys: try SealingKeyCheck(&session)
                )
            }
            return [
                .good("database", "the database answers: \(installation.databaseDescription)"),
                .good("schema", "the schema is the one of this release (\(MigrationRunner.newestStep))"),
                ClockCheck.database(ownMilliseconds: seen.own, databaseMilliseconds: seen.clock),
                seen.keys.judge(sealer), JobsCheck.judge(seen.outbox),
            ] + RoleAccounts.diagnoses(configuration)
                + (isHere ? DiskCheck.examine([seen.folder], except: DiskCheck.usualPaths) : [])
        } catch let error as MigrationError {
            return [
                .good("database", "the database answers"),
                Diagnosis(
                    .schemaDiffers, "\(error)", fix: "syncctl migrate, unless the release is older than the schema"),
            ]
        } catch {
            let failure = CommandFailure(error)
            let path = options.file.path
            return [
                failure?.status == .noPermission
                    ? Diagnosis(
                        .databaseDenied, failure?.message ?? "",
                        fix: "compare database.user in \(path) and the password's file with MariaDB: mariadb -e 'SHOW "
                            + "GRANTS FOR USER@HOST'")
                    : Diagnosis(
                        .databaseUnavailable, failure?.message ?? "\(error)",
                        fix: "systemctl status mariadb; journalctl -u mariadb -n 50; database.* in \(path)")
            ]
        }
    }
}
