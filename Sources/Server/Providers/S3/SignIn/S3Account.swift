public import FoundationEssentials
import HTTPTransport
import HTTPTypes
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
    public func verify(
        _ presented: PresentedCredentials, through client: AccountClient
    ) throws(AccountError) -> SignInProfile {
        let location = try S3Location(details: presented.accountDetails)
        let bucket = try bucket(location, secret: presented.accessToken, through: client)
        do throws(CloudStorageError) {
            var sender = bucket.client()
            let reply = try sender.send(
                bucket.request(
                    .identity, .get,
                    query: [
                        (name: "list-type", value: "2"), (name: "max-keys", value: "1"),
                        (name: "prefix", value: location.prefix),
                    ]))
            _ = try S3XML.root(of: reply, named: "ListBucketResult")
            try S3MultipartUpload(
                of: Self.probeName, headers: [:], in: bucket, accepting: [], by: bucket.access.deadline
            ).abort(by: bucket.access.deadline)
        } catch {
            throw Self.accountError(error)
        }
        return SignInProfile(
            providerUserID: location.identity,
            displayName: location.prefix.split(separator: "/").last.map(String.init) ?? location.bucket)
    }

    public func credentials(from presented: PresentedCredentials) -> StoredCredentials {
        let location = try? S3Location(details: presented.accountDetails)
        return StoredCredentials(accessToken: presented.accessToken, isLasting: true, location: location?.stored)
    }

    /// Writes, reads and deletes an object.
    public func requireStorage(
        with credentials: StoredCredentials, through client: AccountClient
    ) throws(AccountError) {
        guard let secret = credentials.accessToken, let stored = credentials.location else { return }
        do throws(CloudStorageError) {
            let location = try S3Location(stored: stored)
            let bucket: S3Bucket
            do { bucket = try self.bucket(location, secret: secret, through: client) } catch {
                throw .rejected(code: "\(error)")
            }
            // Always the same name: what a failed attempt leaves behind, the next one overwrites and deletes.
            let name = Self.probeName
            var sender = bucket.client()
            var put = bucket.request(.metadata, .put, object: S3.objectID(name))
            bucket.attach(Array("SyncServer".utf8)[...], to: &put)
            _ = try sender.send(put)
            let get = bucket.request(.metadata, .get, object: S3.objectID(name))
            _ = try sender.send(get)
            try sender.send(bucket.request(.metadata, .delete, object: S3.objectID(name))).confirmDeletion()
            // Some keys may list, and yet are not told that an object is absent: no upload would find out whether its name is
            // free (Backblaze B2: kopia, issue 5329).
            do throws(CloudStorageError) { _ = try sender.send(get) } catch .notFound {}
        } catch {
            switch error {
            case .rejected(let code): throw .storageMissing(detail: code)
            default: throw Self.accountError(error)
            }
        }
    }

    /// The app maker has registered nothing anywhere.
    public var hasRegistration: Bool { false }

    public func checkRegistration(through client: AccountClient) {}

    /// The name of what is written to try a key out.
    private static let probeName = ".syncserver-probe"

    private func bucket(
        _ location: S3Location, secret: String, through client: AccountClient
    ) throws(AccountError) -> S3Bucket {
        guard let server = location.server, let destination = servers.destination(of: server) else {
            throw .serverNotAllowed
        }
        guard secret.isIdentifier(upTo: Self.longestSecret) else { throw .rejected }
        return S3Bucket(
            location, secret: secret, destination: destination, server: server,
            access: client.access(tokens: PresentedKey(secret: secret)), now: now)
    }

    private static func accountError(_ error: CloudStorageError) -> AccountError {
        switch error {
        case .authorizationRevoked: .rejected
        case .serverNotAllowed: .serverNotAllowed
        // The key is one, but opens too little; or there is no such bucket.
        case .rejected, .notFound, .quotaExceeded: .rejected
        case .rateLimited, .unavailable, .contentMismatch, .contentFailed, .downloadCancelled, .localFailure:
            .unavailable(detail: String(reflecting: error))
        case .misconfigured(let detail): .misconfigured(detail: detail)
        case .withheld(let reason): .withheld(reason)
        case .timedOut: .timedOut
        }
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
