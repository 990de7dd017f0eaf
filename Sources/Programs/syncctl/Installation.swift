import Configuration
import Curl
import HTTPTransport
import MariaDB
import OpenSSLCrypto
import Operations
import Posix
import Providers
import Store
import SyncProtocol
import Vault

/// The server that a command manages: its configuration and its database.
struct Installation {
    let configuration: ServerConfiguration
    let store: MetadataStore

    /// Which secrets a command needs.
    enum SecretsNeeded {
        case all
        /// The password of the database's owner: no stored token is opened.
        case ofDatabase
    }

    /// Reads the configuration, connects, and verifies that the schema matches this program.
    /// - Parameter patience: the time limit for each reply of the database; ten minutes, for statements that read whole
    ///   tables.
    init(_ options: CommonOptions, secrets: SecretsNeeded = .all, patience: Duration = .seconds(600)) throws {
        configuration =
            switch secrets {
            case .all: try ServerConfiguration(readingFrom: options.file.path)
            case .ofDatabase: try ServerConfiguration(readingForDatabaseAlone: options.file.path)
            }
        ClientLibrary.initialize()
        var settings = Self.patient(configuration.database, patience)
        settings.connectTimeout = min(settings.connectTimeout, patience)
        var runner = try MigrationRunner(settings, leaseOwner: try RandomBytes.uuidText())
        try runner.verify()
        store = MetadataStore(
            pool: ConnectionPool(settings: settings, maximumConnections: 1, leaseTimeout: .seconds(30)),
            pause: { Pause.sleep($0) })
        store.open()
        // The database's time is known from here on.
        try store.check()
    }

    static func patient(
        _ settings: ConnectionSettings, _ patience: Duration = .seconds(600)
    ) -> ConnectionSettings {
        var settings = settings
        settings.readTimeout = patience
        return settings
    }

    /// The current time by the database's clock, like all times in it.
    var now: WireDate { store.now }

    /// The database's address, as text.
    var databaseDescription: String { "\(configuration.database)" }

    func keys() throws -> KeyRing { try KeyRing(configuration) }

    func sealer() throws -> CredentialSealer { CredentialSealer(keys: try keys()) }

    /// Access to users' storage.
    func storage() throws -> StorageRegistry {
        CurlLibrary.initialize()
        return try StorageRegistry(configuration, store: store, backoff: Backoff(pause: { Pause.sleep($0) }))
    }

    /// For transports of several threads.
    func senders() -> CurlSenderPool { CurlSenderPool(routing: Routing(configuration.sandbox)) }

    func transport() -> Transport { senders().transport }

    /// - Throws: ``CommandFailure`` if the text is not a group's UUID.
    static func group(_ text: String) throws -> SharingGroupUUID {
        guard let group = SharingGroupUUID(text) else {
            throw CommandFailure(.foundSomething, "a group's UUID has 1 to 36 characters")
        }
        return group
    }
}
