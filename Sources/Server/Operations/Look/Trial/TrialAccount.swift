import FoundationEssentials
import HTTPTransport
import OpenSSLCrypto
import Providers
import SyncProtocol
import Synchronization
import Vault

/// A test account during a trial: the means to call its provider, and the results of the steps so far.
///
/// Used by one thread.
final class TrialAccount {
    /// The prefix of all object names.
    static let objectPrefix = "syncserver-try-"
    /// The folder, for providers that store people's files in a folder of their choice.
    static let folderName = "SyncServer try"
    static let smallBytes = 3_000
    /// Three parts, the last one with an odd size.
    static let largeBytes = 2 * TrialContent.partBytes + 1_234_567

    let company: String
    let account: any AccountProvider
    /// `nil` for accounts without storage.
    let storage: (any CloudProvider)?
    let guide: TrialGuide
    let given: TrialCredentials
    let keepsGrant: Bool
    let recorder: CallRecorder
    let connection = BrokenConnection()
    private let transport: Transport
    private let patience: Duration
    private let pause: @Sendable (Duration) -> Void

    /// The phone's credentials.
    var presented: PresentedCredentials
    var profile: SignInProfile?
    /// The server's credentials for the account.
    var stored: StoredCredentials?
    /// Whether the provider recognizes the token, but as another app's.
    var isOfAnotherApp = false
    /// Whether the provider was asked to revoke the person's grant.
    var hasRevoked = false
    /// Whether the storage has granted access.
    var isStorageOpen = false
    /// The objects of the trial, by the step that created them.
    var objects: [String: Upload] = [:]
    /// Every name under which an object may remain.
    var names: Set<String> = []
    /// The provider's texts that must not appear in the report.
    var confidential: [String] = []
    /// Remarks for the owner of the storage.
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

    /// An uploaded object.
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

    /// The storage; steps that need it run only if there is one.
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

    /// Tries `condition` a few times, because some providers need a moment.
    func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
        for attempt in 0..<6 {
            if attempt > 0 { pause(.seconds(attempt)) }
            if try condition() { return true }
        }
        return false
    }

    /// A name that no other trial uses.
    func name(_ suffix: String) -> String { "\(runName)-\(suffix)" }

    /// All texts that must not appear in the report.
    var allConfidential: [String] {
        given.confidential + confidential
            + [
                presented.accessToken, presented.accountID, presented.microsoftAccessToken, profile?.providerUserID,
                profile?.displayName, stored?.accessToken, stored?.refreshToken, folder.folderID,
            ].compactMap(\.self)
            + objects.values.compactMap { $0.stored?.objectID }
    }

    /// A defect of a step: it needs a result that no earlier step has produced.
    struct NotThere: Error {
        let text: String
    }
}

/// The account's access token, which is kept only during the trial.
private final class TrialTokens: AccessTokens {
    private unowned let account: TrialAccount
    let accountKey: Int64 = 1

    init(_ account: TrialAccount) { self.account = account }

    func current() throws(CloudStorageError) -> AccessToken {
        guard let stored = account.stored, let token = stored.usableToken else { throw .authorizationRevoked }
        return AccessToken(token, at: stored.location)
    }

    func renewed(insteadOf rejected: String, by deadline: Deadline) throws(CloudStorageError) -> AccessToken {
        guard let stored = account.stored else { throw .authorizationRevoked }
        if let token = stored.usableToken, token != rejected { return AccessToken(token, at: stored.location) }
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
