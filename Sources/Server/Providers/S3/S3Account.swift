public import FoundationEssentials
import HTTPTransport
import HTTPTypes
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
    public var acceptsPasswords: Bool { true }

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

    func current() -> AccessToken { AccessToken(secret) }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        throw .authorizationRevoked
    }
}

/// Tests whether a presented key opens a bucket and has every right that the server needs there, by sending the
/// requests that need them. Leaves nothing in the bucket.
///
/// Only the service's explicit verdict on the key rejects it. A missing right, a bucket that does not exist, or an
/// address without an S3 service each have their own error, with a sentence that names the cause.
struct S3KeyTrial {
    /// The rights of a key, by Amazon's names ("Actions, resources, and condition keys for Amazon S3").
    private enum Right: String {
        case list = "s3:ListBucket"
        case read = "s3:GetObject"
        case write = "s3:PutObject"
        case delete = "s3:DeleteObject"
        case abort = "s3:AbortMultipartUpload"
        case listUploads = "s3:ListBucketMultipartUploads"
    }

    /// How a bucket treats a deleted object.
    enum Deletion {
        case forGood
        case withVersions
    }

    /// Always the same name, so that each attempt overwrites and deletes what a failed one left behind.
    private static let probeName = ".syncserver-probe"
    /// Error codes for a missing right.
    private static let denials: Set = ["AccessDenied", "AllAccessDisabled", "UnauthorizedAccess", "Forbidden"]

    private let bucket: S3Bucket

    init(_ bucket: S3Bucket) { self.bucket = bucket }

    /// Lists one entry.
    func list() throws(AccountError) {
        let reply = try needing(.list) { () throws(CloudStorageError) in
            var client = bucket.client()
            return try client.send(
                bucket.request(
                    .identity, .get,
                    query: [
                        (name: "list-type", value: "2"), (name: "max-keys", value: "1"),
                        (name: "prefix", value: bucket.location.prefix),
                    ]))
        }
        do { _ = try S3XML.root(of: reply, named: "ListBucketResult") } catch { throw Self.noService(reply.status) }
    }

    /// Begins an upload and ends it.
    /// - Returns: whether it could be aborted and needed no other way to end it.
    /// - Throws: ``AccountError/storageUnusable(_:)`` if the storage is full, which proves that the key may write.
    func beginAndEndUpload() throws(AccountError) -> Bool { end(try begin()) }

    private func begin() throws(AccountError) -> S3MultipartUpload {
        try needing(.write) { () throws(CloudStorageError) in
            try S3MultipartUpload(
                of: Self.probeName, headers: [:], in: bucket, accepting: [], by: bucket.access.deadline)
        }
    }

    private func end(_ upload: S3MultipartUpload) -> Bool {
        var upload = upload
        do { return try upload.endTrial(by: bucket.access.deadline) } catch {
            // An upload without parts costs nothing, and the next sign-up ends it.
            return true
        }
    }

    /// Writes, reads and deletes an object.
    func keepObject() throws(AccountError) -> Deletion {
        var client = bucket.client()
        let objectID = S3.objectID(Self.probeName)
        var put = bucket.request(.metadata, .put, object: objectID)
        bucket.attach(checked: Array("SyncServer".utf8)[...], to: &put)
        let written = try needing(.write) { () throws(CloudStorageError) in try client.send(put) }
        let get = bucket.request(.metadata, .get, object: objectID)
        _ = try needing(.read) { () throws(CloudStorageError) in try client.send(get) }
        let version = written.head.headers[.amzVersionID].flatMap { $0.isEmpty || $0 == "null" ? nil : $0 }
        try needing(.delete) { () throws(CloudStorageError) in
            if let version {
                let exact = bucket.request(
                    .metadata, .delete, object: objectID, query: [(name: "versionId", value: version)])
                // Few keys have this right; without it, the version remains, hidden.
                do throws(CloudStorageError) { return try client.send(exact).confirmDeletion() } catch .rejected {}
            }
            try client.send(bucket.request(.metadata, .delete, object: objectID)).confirmDeletion()
        }
        // Some keys may list objects, but the service does not report to them that an object is absent: no upload could
        // determine whether its name is free (Backblaze B2: kopia, issue 5329).
        try needing(.list) { () throws(CloudStorageError) in
            do throws(CloudStorageError) { _ = try client.send(get) } catch .notFound {}
        }
        return version == nil ? .forGood : .withVersions
    }

    /// Begins an upload, lists unfinished uploads, and aborts it, because the server must be able to find and remove
    /// what an interrupted upload left behind. A service without such a list is accepted.
    func seeUploads() throws(AccountError) {
        let upload = try begin()
        var maySee = true
        do { _ = try S3MultipartUpload.list(of: Self.probeName, in: bucket) } catch .rejected {
            maySee = bucket.lastRefusal.code.map(Self.denials.contains) != true
        } catch {
            // The right is unknown then, but the key is accepted: nothing depends on this upload.
        }
        let isAborted = end(upload)
        guard maySee else { throw Self.missing(.listUploads) }
        guard isAborted else { throw Self.missing(.abort) }
        // Uploads of previous attempts.
        try? S3MultipartUpload.abortAll(of: Self.probeName, in: bucket)
    }

    // MARK: Meaning of rejections

    private func needing<Result>(
        _ right: Right, _ body: () throws(CloudStorageError) -> Result
    ) throws(AccountError) -> Result {
        do { return try body() } catch { throw accountError(error, right) }
    }

    private func accountError(_ error: CloudStorageError, _ right: Right) -> AccountError {
        switch error {
        case .authorizationRevoked: Self.rejected(bucket.lastRefusal.code)
        case .serverNotAllowed: .serverNotAllowed
        case .quotaExceeded: .storageUnusable(.full)
        case .termsNotAccepted: .storageUnusable(.termsNotAccepted)
        case .rejected, .notFound: refused(error, right)
        case .rateLimited(let delay):
            .notAsked(retryAfter: min(delay ?? Pauses.usual, Pauses.longest), detail: "\(error)")
        case .unavailable:
            if let status = bucket.lastRefusal.status, (300..<500).contains(status), status != 408, status != 429,
                bucket.lastRefusal.code == nil
            {
                Self.noService(status)
            } else {
                .notAsked(retryAfter: Pauses.usual, detail: String(reflecting: error))
            }
        case .contentMismatch, .contentFailed, .downloadCancelled, .localFailure:
            .unavailable(detail: String(reflecting: error))
        case .misconfigured(let detail): .misconfigured(detail: detail)
        case .withheld(let reason): .withheld(reason)
        case .timedOut: .timedOut
        }
    }

    private func refused(_ error: CloudStorageError, _ right: Right) -> AccountError {
        guard let code = bucket.lastRefusal.code else { return Self.noService(bucket.lastRefusal.status ?? 0) }
        return switch code {
        case "NoSuchBucket", "InvalidBucketName": .malformedDetails("names a bucket that does not exist")
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect",
            "IllegalLocationConstraintException":
            .malformedDetails("names a region that is not the bucket's")
        case "AccountProblem", "NotSignedUp":
            .rightMissing("the service has a problem with the account of the access key (\(code))")
        case _ where Self.denials.contains(code): Self.missing(right)
        default: .unavailable(detail: String(reflecting: error))
        }
    }

    /// The sentences are for the person's app, and contain none of the service's text.
    private static func rejected(_ code: String?) -> AccountError {
        switch code {
        case "InvalidAccessKeyId": .keyRejected("the service does not know the access key (accessKeyID)")
        case "SignatureDoesNotMatch": .keyRejected("the secret does not belong to the access key")
        case "ExpiredToken", "TokenRefreshRequired": .keyRejected("the access key has expired")
        default: .keyRejected("the service does not accept the access key or its secret")
        }
    }

    private static func missing(_ right: Right) -> AccountError {
        let action =
            switch right {
            case .list: "list the bucket, or the prefix in it"
            case .read: "read objects"
            case .write: "write objects"
            case .delete: "delete objects"
            case .abort: "abort uploads"
            case .listUploads: "list unfinished uploads"
            }
        return .rightMissing("the access key may not \(action): it needs \(right.rawValue)")
    }

    private static func noService(_ status: Int) -> AccountError {
        .malformedDetails("names an address without an S3 service (status \(status))")
    }
}
