import HTTPTransport
import HTTPTypes
import SyncProtocol

extension HTTPField.Name {
    /// Nextcloud: bypasses the bin when deleting (`apps/files_trashbin/lib/Storage.php`).
    fileprivate static let skipsTrashbin = HTTPField.Name("X-NC-Skip-Trashbin")!
}

/// Verifies, before a person becomes a user, that the address they have named can store files: creates a separate
/// folder there, stores a file in it as an upload does, reads it, and removes both.
///
/// Folder and file always have the same names, so that each trial removes what an interrupted one left behind.
struct WebDAVTrial {
    private static let folderName = "SyncServer trial"
    private static let fileName = "trial.txt"
    /// Exceeds the 1 MiB to which nginx limits bodies by default.
    private static let fileBytes = (1 << 20) + 1
    private static let cleaningTime: Duration = .seconds(5)
    private static let principal = "<d:resourcetype/><d:current-user-principal/>"

    private let storage: WebDAV
    private let access: StorageAccess
    private let client: WebDAVClient
    private let address: WebDAVAddress

    /// - Throws: ``AccountError/serverNotAllowed``.
    init(
        _ location: WebDAVLocation, token: String, at address: WebDAVAddress, servers: NamedServers,
        through client: AccountClient
    ) throws(AccountError) {
        // Has a memory of its own, since the account has no number yet.
        storage = WebDAV(servers: servers)
        access = client.access(
            tokens: PresentedPassword(token, location: location.text), folderName: Self.folderName)
        self.address = address
        do { self.client = try storage.client(access) } catch { throw .serverNotAllowed }
    }

    /// - Throws: ``AccountError/storageUnusable(_:)``, or an error that means that the server could not be asked.
    func run() throws(AccountError) {
        do throws(CloudStorageError) { try createFolder() } catch { throw accountError(error) }
        defer { _ = try? remove(address.url([Self.folderName], isCollection: true), by: .after(Self.cleaningTime)) }
        let name: String
        do throws(CloudStorageError) { name = try keepFile() } catch { throw accountError(error) }
        do throws(CloudStorageError) {
            try remove(client.url(name))
        } catch .rejected {
            throw .storageUnusable(.notDeletable)
        } catch {
            throw accountError(error)
        }
    }

    /// Deletes the resource at `url` permanently, bypassing Nextcloud's bin.
    private func remove(_ url: String, by deadline: Deadline? = nil) throws(CloudStorageError) {
        let request = client.request(.delete, .delete, url, headers: [.skipsTrashbin: "true"])
        try client.confirmDeletion(
            try client.send(request, accepting: [404, 410], by: deadline), of: url, by: deadline)
    }

    private func createFolder() throws(CloudStorageError) {
        let request = client.request(
            .metadata, .makeCollection, address.url([Self.folderName], isCollection: true))
        let reply = try client.send(request, accepting: [401, 405, 409])
        switch reply.status {
        case 200..<300: break
        case 401 where !WebDAVVerdict.isOwnRefusal(reply): throw .unavailable(detail: "a 401 without a challenge")
        // An interrupted trial left the folder behind, or the method is not allowed there.
        case 405:
            guard try client.look(at: [Self.folderName], isCollection: true) == nil else { break }
            throw .rejected(code: "405")
        default: throw .rejected(code: "\(reply.status)")
        }
    }

    /// - Returns: the name of the file, whose bytes are complete.
    private func keepFile() throws(CloudStorageError) -> String {
        // Always the same name, like the folder's.
        let reservation = ObjectReservation(name: Self.fileName, objectID: nil, spareName: nil)
        let bytes = [UInt8](repeating: 0x2E, count: Self.fileBytes)
        let stored = try storage.upload(
            BytesContent(bytes, for: .webDAV), as: reservation, mimeType: "text/plain", to: access)
        var readBytes = 0
        try storage.download(
            objectID: stored.objectID, range: nil, from: access, begin: { _ in },
            receive: { part in
                readBytes += part.count
                return readBytes <= Self.fileBytes
            })
        guard readBytes == Self.fileBytes else { throw .contentMismatch }
        return stored.name
    }

    // MARK: Causes

    private func accountError(_ error: CloudStorageError) -> AccountError {
        switch error {
        case .rejected(let code):
            // Other rejections mean that no connection could be used, for example because of its certificate.
            Int(code.prefix(3)).map { .storageUnusable(obstacle(status: $0)) } ?? .unavailable(detail: code)
        case .notFound: .storageUnusable(obstacle(status: 404))
        // The password was accepted a moment ago, when the folder was shown.
        case .authorizationRevoked: .storageUnusable(obstacle(status: 401))
        case .quotaExceeded: .storageUnusable(.full)
        case .termsNotAccepted: .storageUnusable(.termsNotAccepted)
        case .contentMismatch, .downloadCancelled: .storageUnusable(.notKept)
        case .serverNotAllowed: .serverNotAllowed
        case .misconfigured(let detail): .misconfigured(detail: detail)
        case .withheld(let reason): .withheld(reason)
        case .timedOut: .timedOut
        case .rateLimited(let delay):
            .notAsked(retryAfter: min(delay ?? Pauses.usual, Pauses.longest), detail: "\(error)")
        case .unavailable: .notAsked(retryAfter: Pauses.usual, detail: String(reflecting: error))
        case .contentFailed, .localFailure: .unavailable(detail: String(reflecting: error))
        }
    }

    private func obstacle(status: Int) -> StorageObstacle {
        if status == 413 { return .bodyLimit }
        if let paths = NextcloudPaths(address) {
            if let name = nameOfPerson(), name.lowercased() != paths.user.lowercased() { return .ofSomebodyElse }
        } else if NextcloudPaths.isBesideFiles(address) {
            return .notAHome
        }
        return [401, 403, 405].contains(status) ? .readOnly : .notWritable(status: status)
    }

    /// The person's canonical name in Nextcloud or ownCloud.
    private func nameOfPerson() -> String? {
        guard let principal = (try? client.look(at: [], Self.principal, isCollection: true))?.principal else {
            return nil
        }
        return WebDAVAddress.segments(ofPath: principal[...])?.last
    }
}

/// A password that is not stored yet.
private final class PresentedPassword: AccessTokens {
    let accountKey: Int64 = 0
    private let password: AccessToken

    init(_ password: String, location: String) { self.password = AccessToken(password, at: location) }

    func current() -> AccessToken { password }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        throw .authorizationRevoked
    }
}
