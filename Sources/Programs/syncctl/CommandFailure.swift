import Configuration
import Gzip
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store

/// The exit statuses, from sysexits.h where it defines one: an interface, documented in docs/operations.md.
enum ExitStatus: Int32 {
    /// The command completed and found a problem, or the requested item does not exist.
    case foundSomething = 1
    /// The database, the server or a provider cannot be reached.
    case unavailable = 69
    /// Access to the database or a file is denied.
    case noPermission = 77
    /// The configuration, or the database's schema, is not valid.
    case configuration = 78
}

/// A failure as JSON, for programs.
struct FailureReport: Report {
    struct Failure: Encodable {
        /// Stable: `failed`, `usage`, `unavailable`, `noPermission`, `configuration`.
        var code: String
        var exitStatus: Int32
        var message: String
    }

    var error: Failure

    init(_ failure: CommandFailure) {
        self.init(failure.status.rawValue, failure.message)
    }

    /// - Parameter status: one of ``ExitStatus``, or the parser's status for a wrong command line.
    init(_ status: Int32, _ message: String) {
        let code =
            switch ExitStatus(rawValue: status) {
            case .unavailable: "unavailable"
            case .noPermission: "noPermission"
            case .configuration: "configuration"
            case .foundSomething: "failed"
            case nil: "usage"
            }
        error = Failure(code: code, exitStatus: status, message: message)
    }

    var lines: [String] { ["syncctl: \(error.message)"] }
    var isGood: Bool { false }
}

/// A failure that a person can read.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The failure to report for an error; `nil` for command-line errors.
    init?(_ error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case let error as ConfigurationError where error.isDenied:
            self.init(.noPermission, "\(Self.permissionMissing)\n\(error)")
        case let error as ConfigurationError: self.init(.configuration, "the configuration has mistakes\n\(error)")
        case let error as MigrationError: self.init(.configuration, "\(error)")
        case let error as StoreError: self.init(error)
        case let error as MariaDBError: self.init(StoreError(error))
        case let error as PosixError: self.init(error)
        case GzipError.system(let call, let code):
            self.init(PosixError(call: call, code: code))
        case let error as GzipError: self.init(.foundSomething, "\(error)")
        case let error as BackupError: self.init(.foundSomething, "\(error)")
        case let error as RestoreError: self.init(.foundSomething, "\(error)")
        case let error as CloudCheckSuperseded: self.init(.foundSomething, "\(error)")
        case let error as CryptoError: self.init(.foundSomething, "\(error)")
        case let error as CloudStorageError: self.init(.unavailable, "the storage: \(String(reflecting: error))")
        case let error as AccountError: self.init(.unavailable, "the provider: \(error)")
        default: return nil
        }
    }

    /// The advice if the configuration or a secret cannot be read.
    static let permissionMissing =
        "not permitted to read the configuration and its secrets: run syncctl as root"

    private init(_ error: PosixError) {
        self.init(error.isDenial ? .noPermission : .foundSomething, "\(error)")
    }

    private init(_ error: StoreError) {
        switch error {
        case .unavailable(let cause): self.init(.unavailable, "the database cannot be used: \(Self.detail(of: cause))")
        case .busy, .contention: self.init(.unavailable, "the database is too busy: \(error)")
        case .denied(let cause): self.init(.noPermission, "the database denies access: \(Self.detail(of: cause))")
        case .defect(let cause):
            self.init(.foundSomething, "the database rejected a statement: \(Self.detail(of: cause))")
        case .alreadyExists, .notFound, .corrupt: self.init(.foundSomething, "\(error)")
        }
    }

    /// The database's own code and text; operators may see them.
    private static func detail(of error: MariaDBError) -> String {
        switch error {
        case .unavailable(let code, let message), .inDoubt(let code, let message), .accessDenied(let code, let message),
            .contention(let code, let message), .constraint(let code, let message),
            .programming(let code, let message):
            "\(code) \(message)"
        case .poolExhausted, .duplicateKey, .unexpectedValue: "\(error)"
        }
    }
}
