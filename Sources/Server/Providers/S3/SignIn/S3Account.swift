public import FoundationEssentials
import HTTPTransport
public import SyncProtocol
import UntrustedInput

/// People who sign in with an access key to a bucket.
///
/// The key must open the bucket, and be able to write there: whoever can do that is its owner, also with another key.
/// A key does not expire by itself, and nobody but its owner can revoke it.
public struct S3Account: AccountProvider {
    private static let longestSecret = 256

    let servers: NamedServers
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// - Parameter now: the clock; tests pass one that they control.
    public init(
        servers: NamedServers, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.servers = servers
        self.now = { Int64(now().timeIntervalSince1970) }
    }

    public var accountType: AccountType { .s3 }

    /// Lists the bucket, and begins and aborts an upload, which leaves nothing in it.
    ///
    /// A storage that is full has a key that may write: its owner must be able to delete something.
    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let location = try S3Location(details: presented.accountDetails)
        let trial = S3KeyTrial(try bucket(location, secret: presented.accessToken, through: client))
        try trial.list()
        do throws(AccountError) { _ = try trial.beginAndEndUpload() } catch .storageUnusable(.full) {}
        return SignInProfile(
            providerUserID: location.identity,
            displayName: location.prefix.split(separator: "/").last.map(String.init) ?? location.bucket)
    }

    public func statedUserID(in presented: PresentedCredentials) -> String? {
        (try? S3Location(details: presented.accountDetails))?.identity
    }

    public func namedServer(in presented: PresentedCredentials) -> String? {
        guard let server = (try? S3Location(details: presented.accountDetails))?.server,
            servers.destination(of: server) == .named
        else { return nil }
        return server.origin
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        let location = try? S3Location(details: presented.accountDetails)
        return StoredCredentials(accessToken: presented.accessToken, isLasting: true, location: location?.stored)
    }

    public func namesAddress(in presented: PresentedCredentials) -> Bool {
        (try? S3Location(details: presented.accountDetails)) != nil
    }

    /// Tries every right out that the key needs (``S3KeyTrial``), and finds out whether the bucket keeps what is deleted.
    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {
        guard let secret = credentials.accessToken, let stored = credentials.location else { return }
        let location: S3Location
        do { location = try S3Location(stored: stored) } catch { throw .unavailable(detail: String(reflecting: error)) }
        let trial = S3KeyTrial(try bucket(location, secret: secret, through: client))
        if try trial.keepObject() == .withVersions {
            client.remark(
                "the bucket keeps versions: what is deleted or replaced stays in it, and is billed, until its owner or a "
                    + "lifecycle rule removes it")
        }
        try trial.seeUploads()
    }

    /// The app maker has registered nothing anywhere.
    public var hasRegistration: Bool { false }

    public func checkRegistration(through client: AccountClient) {}

    private func bucket(
        _ location: S3Location, secret: String, through client: AccountClient
    ) throws(AccountError) -> S3Bucket {
        guard let server = location.server, let destination = servers.destination(of: server) else {
            throw .serverNotAllowed
        }
        guard secret.isIdentifier(upTo: Self.longestSecret) else {
            throw .keyRejected("the access token is not the secret of an access key: it has a blank, or is too long")
        }
        return S3Bucket(
            location, secret: secret, destination: destination, server: server,
            access: client.access(tokens: PresentedKey(secret: secret)), now: now)
    }
}

/// A key that nobody has stored yet.
private final class PresentedKey: AccessTokens {
    let accountKey: Int64 = 0
    private let secret: String

    init(secret: String) { self.secret = secret }

    func current() -> String { secret }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        throw .authorizationRevoked
    }
}
