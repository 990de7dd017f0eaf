import FoundationEssentials
import HTTPTransport
import OpenSSLCrypto
import Providers
import SyncProtocol
import Synchronization
import Vault

/// A test account in the course of a trial: the means to call its provider, and what the steps so far have brought.
///
/// Used by one thread.
final class TrialAccount {
    /// How the names of all objects begin.
    static let objectPrefix = "syncserver-try-"
    /// Of providers where people's files are in a folder of their choice.
    static let folderName = "SyncServer try"
    static let smallBytes = 3_000
    /// Three parts, the last of which is odd.
    static let largeBytes = 2 * TrialContent.partBytes + 1_234_567

    let company: String
    let account: any AccountProvider
    /// `nil` for accounts without one.
    let storage: (any CloudProvider)?
    let guide: TrialGuide
    let given: TrialCredentials
    let keepsGrant: Bool
    let recorder: CallRecorder
    let connection = BrokenConnection()
    private let transport: Transport
    private let patience: Duration
    private let pause: @Sendable (Duration) -> Void

    /// What a phone presents.
    var presented: PresentedCredentials
    var profile: SignInProfile?
    /// What the server has of the account.
    var stored: StoredCredentials?
    /// Whether the provider knows the token, but not as one for this server.
    var isOfAnotherApp = false
    /// Whether the provider was asked to revoke what the person has granted.
    var hasRevoked = false
    /// Whether the storage has let the server in.
    var isStorageOpen = false
    /// The objects of the trial, by the step that made them.
    var objects: [String: Upload] = [:]
    /// Every name under which something may have been left.
    var names: Set<String> = []
    /// Texts of the provider that must not be in the report.
    var confidential: [String] = []
    /// What the owner of the storage should know of it.
    let remarks = Remarks()
    private lazy var tokens = TrialTokens(self)
    private let folder = TrialFolder()
    private let runName: String

    /// Sentences about the storage.
    final class Remarks: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    /// Something that was uploaded.
    struct Upload {
        var bytes: [UInt8]
        var hash: String
        var reservation: ObjectReservation
        var stored: StoredObject?
    }

    init(_ subject: ProviderTrial.Subject, recorder: CallRecorder) throws {
        company = subject.company
        account = subject.account
        storage = subject.storage
        guide = subject.guide
        given = subject.credentials
        keepsGrant = subject.keepsGrant
        self.recorder = recorder
        patience = subject.patience
        pause = subject.pause
        transport = connection.around(subject.transport.decorated(by: recorder))
        presented = given.presented(as: account.accountType)
        runName = Self.objectPrefix + (try RandomBytes.generate(count: 4)).hexLowercase
    }

    // MARK: Means

    var client: AccountClient {
        AccountClient(
            transport: transport, deadline: .after(patience), backoff: backoff,
            remark: { [remarks] text in remarks.add(text) })
    }

    var access: StorageAccess {
        StorageAccess(
            transport: transport, tokens: tokens, folder: folder, deadline: .after(patience), backoff: backoff)
    }

    private var backoff: Backoff { Backoff(attempts: 4, pause: pause) }

    /// The storage; steps that need it come only where there is one.
    func requireStorage() throws -> any CloudProvider {
        guard let storage else { throw NotThere(text: "there is no storage") }
        return storage
    }

    func requireOwner() throws -> (any OwnerOperations)? { try requireStorage() as? any OwnerOperations }

    func requireStored() throws -> StoredCredentials {
        guard let stored else { throw NotThere(text: "there are no tokens") }
        return stored
    }

    func requireUpload(_ name: String) throws -> (upload: Upload, stored: StoredObject) {
        guard let upload = objects[name], let stored = upload.stored else { throw NotThere(text: "nothing is stored") }
        return (upload, stored)
    }

    /// Tries `condition` a few times, since some providers need a moment.
    func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
        for attempt in 0..<6 {
            if attempt > 0 { pause(.seconds(attempt)) }
            if try condition() { return true }
        }
        return false
    }

    /// A name that no other trial uses.
    func name(_ suffix: String) -> String { "\(runName)-\(suffix)" }

    /// All texts that must not be in the report.
    var allConfidential: [String] {
        given.confidential + confidential
            + [
                presented.accessToken, presented.accountID, presented.microsoftAccessToken, profile?.providerUserID,
                profile?.displayName, stored?.accessToken, stored?.refreshToken, folder.folderID,
            ].compactMap(\.self)
            + objects.values.compactMap { $0.stored?.objectID }
    }

    /// A defect of a step: it needs what no step before it has brought.
    struct NotThere: Error {
        let text: String
    }
}

/// The account's access token, which lives only as long as the trial.
private final class TrialTokens: AccessTokens {
    private unowned let account: TrialAccount
    let accountKey: Int64 = 1

    init(_ account: TrialAccount) { self.account = account }

    var location: String? { account.stored?.location }

    func current() throws(CloudStorageError) -> String {
        guard let token = account.stored?.usableToken else { throw .authorizationRevoked }
        return token
    }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> String {
        guard let stored = account.stored else { throw .authorizationRevoked }
        if let token = stored.usableToken, token != rejected { return token }
        do {
            let fresh = try account.account.refresh(stored, through: account.client)
            account.confidential += [stored.accessToken, stored.refreshToken].compactMap(\.self)
            account.stored = stored.updated(with: fresh)
        } catch {
            throw CloudStorageError(ofRenewal: error)
        }
        return try current()
    }
}

/// The folder of the trial.
private final class TrialFolder: FolderMemory {
    let name: String? = TrialAccount.folderName
    private(set) var folderID: String?

    func replace(_ old: String?, by new: String) -> String {
        folderID = new
        return new
    }

    func isDueForVerification() -> Bool { false }
    func markDoubtful() { folderID = nil }
}
