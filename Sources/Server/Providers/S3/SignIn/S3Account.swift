public import FoundationEssentials
import HTTPTransport
public import SyncProtocol
import UntrustedInput

/// Accounts of people who sign in with an access key to a bucket.
///
/// The key must open the bucket and allow writing to it; a key that does so proves ownership, even if it differs from
/// the stored one. A key does not expire by itself, and only its owner can revoke it.
public struct S3Account: AccountProvider {
    private static let longestSecret = 256

    let servers: NamedServers
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    /// - Parameter now: the clock, for tests to control.
    public init(
        servers: NamedServers, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.servers = servers
        self.now = { Int64(now().timeIntervalSince1970) }
    }

    public var accountType: AccountType { .s3 }

    /// Lists the bucket, and begins and aborts an upload, which leaves no object behind.
    ///
    /// A full storage also proves that the key may write: its owner must still be able to delete files.
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

    /// Tests every right that the key needs (``S3KeyTrial``), and determines whether the bucket keeps deleted objects.
    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {
        guard let secret = credentials.accessToken, let stored = credentials.location else { return }
        let location: S3Location
        do { location = try S3Location(stored: stored) } catch { throw .unavailable(detail: String(reflecting: error)) }
        let trial = S3KeyTrial(try bucket(location, secret: secret, through: client))
        if try trial.keepObject() == .withVersions {
            client.remark(
                "the bucket keeps versions: deleted and replaced files remain in it and are billed until its owner or "
                    + "a lifecycle rule removes them")
        }
        try trial.seeUploads()
    }

    /// The app maker registers with no S3 service.
    public var hasRegistration: Bool { false }

    public func checkRegistration(through client: AccountClient) {}

    private func bucket(
        _ location: S3Location, secret: String, through client: AccountClient
    ) throws(AccountError) -> S3Bucket {
        guard let server = location.server, let destination = servers.destination(of: server) else {
            throw .serverNotAllowed
        }
        guard secret.isIdentifier(upTo: Self.longestSecret) else {
            throw .keyRejected("the access token is not the secret of a key: it contains a blank or is too long")
        }
        return S3Bucket(
            location, secret: secret, destination: destination, server: server,
            access: client.access(tokens: PresentedKey(secret: secret)), now: now)
    }
}

/// A key that is not stored yet.
private final class PresentedKey: AccessTokens {
    let accountKey: Int64 = 0
    private let secret: String

    init(secret: String) { self.secret = secret }

    func current() -> String { secret }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        throw .authorizationRevoked
    }
}
