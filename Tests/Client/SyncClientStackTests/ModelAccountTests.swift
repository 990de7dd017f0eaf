import Foundation
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncClient
@testable import SyncClientTesting
@testable import SyncEngine
@testable import SyncServerConnection

/// Simulations of account switches are valid only as far as their model matches the real server.
@Suite("The model of accounts, compared with the server")
struct ModelAccountTests {
    @Test("Both give the same replies while people switch accounts", arguments: 1...ModelServerTests.seeds)
    func conversation(seed: UInt64) async throws {
        let conversation = try await AccountConversation(TestServer.shared(), seed: seed)
        var said: [String] = []
        for _ in 1...200 {
            let step = conversation.next()
            let replies = try await conversation.replies(to: step)
            guard replies.server == replies.model else {
                Issue.record(
                    """
                    seed \(seed), \(step)
                        server: \(replies.server)
                        model: \(replies.model)
                    after \(said.suffix(3).joined(separator: "\n"))
                    """)
                return
            }
            said.append("\(step)\n    \(replies.server)")
        }
        #expect(conversation.switches >= 1)
        #expect(conversation.counts.count >= 12, "\(conversation.counts)")
    }
}

/// Random requests, mostly valid and sometimes invalid, of two devices of a person with several accounts and one device
/// of a friend.
private final class AccountConversation {
    enum Request {
        case account(ModelAccountRequest)
        case files(ServerRequest, contents: String?)
    }

    struct Step: CustomStringConvertible {
        let device: OneDevice
        let account: ModelAccount
        /// The identity that the device claims to know.
        let epoch: AccountEpoch
        let request: Request

        var description: String {
            let text =
                switch request {
                case .account(let request): "\(request)"
                case .files(let request, _): "\(request)"
                }
            // Type names without modules or common prefixes.
            return "\(device.name), account \(account.number), epoch \(epoch): "
                + text.replacing(/Sync[A-Za-z]*\./, with: "").prefix(160)
        }
    }

    /// A device whose account and known identity are set by each step.
    final class OneDevice: Sendable {
        let name: String
        let device: Device
        let caller: ModelCaller
        let connection: ServerConnection
        let performer: ConnectionPerformer
        private let identity = Knowledge()

        init(_ name: String, _ device: Device, _ user: UserID) throws {
            self.name = name
            self.device = device
            caller = ModelCaller(user: user, device: device.client.deviceUUID)
            let address = device.user.server.address
            let configuration = ServerConnectionConfiguration(
                baseURL: try #require(URL(string: "http://\(address.host):\(address.port)\(address.prefix)")),
                deviceUUID: caller.device, identity: { [identity] in identity.value.withLock { $0 } })
            connection = ServerConnection(
                configuration, credentialProvider: device.credentials, executor: device.executor)
            performer = ConnectionPerformer(connection, device.credentials) { _, _ in }
        }

        func note(_ grant: DeviceGrant?) {
            guard let grant else { return }
            identity.value.withLock { $0.deviceGrant = grant }
        }

        func note(_ epoch: AccountEpoch?) { identity.value.withLock { $0.accountEpoch = epoch } }

        private final class Knowledge: Sendable {
            let value = Mutex(KnownIdentity())
        }
    }

    private let model = ModelServer(capabilities: .all)
    private let group: SharingGroupUUID
    private let userAppID: UserAppID
    private var accounts: [ModelAccount: SandboxAccount] = [:]
    private var devices: [OneDevice] = []
    private var random: SplitMix64
    private var number = 0
    /// The switches that were begun, in order.
    private var begun: [(id: AccountSwitchID, account: ModelAccount)] = []
    /// The number of replies, by their first word.
    private(set) var counts: [String: Int] = [:]
    var switches: Int64 { model.identities[UserID(1)]?.epoch.rawValue ?? 0 }

    init(_ server: TestServer, seed: UInt64) async throws {
        random = SplitMix64(seed: seed)
        let phone = try await Device.signedUp(server)
        group = phone.group
        let ben = try await phone.invited(.google)
        let tablet = try await phone.another()
        devices = [
            try OneDevice("Anna's phone", phone, UserID(1)), try OneDevice("Anna's tablet", tablet, UserID(1)),
            try OneDevice("Ben", ben, UserID(2)),
        ]
        let first = ModelAccount(number: 0)
        accounts[first] = phone.user.account
        for (number, provider) in [SandboxProvider.dropbox, .microsoft, .google].enumerated() {
            accounts[ModelAccount(number: number + 1)] = try server.newcomer(provider).account
        }
        for device in devices {
            guard case .user(let user) = try await device.connection.checkCredentials() else { throw TestApp.Refusal() }
            device.note(user.identity?.deviceGrant)
            if let grant = user.identity?.deviceGrant { try server.establish(grant.secret) }
        }
        guard case .user(let anna) = try await devices[0].connection.checkCredentials(), let identity = anna.identity
        else { throw TestApp.Refusal() }
        userAppID = identity.userAppId
        model.users = [UserID(1), UserID(2)]
        model.identities[UserID(1)] = ModelIdentity(
            userAppID: userAppID, active: first, grants: Set(devices.prefix(2).map(\.caller.device)))
        model.addGroup(group, name: "Family", admin: UserID(1))
        model.add(UserID(2), to: group, .write)
    }

    // MARK: Replies

    func replies(to step: Step) async throws -> (server: String, model: String) {
        let isAnna = step.device.caller.user == UserID(1)
        if isAnna, let account = accounts[step.account] { step.device.device.credentials.signIn(account) }
        step.device.note(isAnna ? step.epoch : nil)
        let replies: (server: String, model: String)
        switch step.request {
        case .account(let request):
            let reply = try await self.reply(to: request, step.device)
            let answer = model.perform(
                Self.adopting(reply, request), from: step.device.caller,
                with: ModelSignIn(account: step.account, epoch: step.epoch), at: Self.now)
            if case .begun(let id, _) = reply, begun.last?.id != id { begun.append((id, step.account)) }
            replies = (describe(reply), describe(answer))
        case .files(let request, let contents):
            replies = try await self.replies(
                to: request, contents, step, isAnna ? ModelSignIn(account: step.account, epoch: step.epoch) : nil)
        }
        counts[replies.server.prefix { $0 != "(" && $0 != "[" }.description, default: 0] += 1
        return replies
    }

    private static let now = WireDate(secondsSince1970: 1_700_000_000)

    /// The server chooses the switch's number.
    private static func adopting(_ reply: ModelAccountReply, _ request: ModelAccountRequest) -> ModelAccountRequest {
        guard case .begin(let userAppID, _) = request, case .begun(let id, _) = reply else { return request }
        return .begin(userAppID, switchID: id)
    }

    private func replies(
        to request: ServerRequest, _ contents: String?, _ step: Step, _ signIn: ModelSignIn?
    ) async throws -> (server: String, model: String) {
        let device = step.device.device
        let location: LocalFileLocation? =
            switch request {
            case .uploadFile(let upload): upload.source
            case .reuploadFile(let upload): upload.source
            default: nil
            }
        if let location, let contents {
            try Data(contents.utf8).write(to: device.folder.appending(path: location.path))
        }
        let files = device.client.driver.files
        let reply = await step.device.performer.reply(to: request, files: files, progress: { _ in })
        var bytes: String?
        if case .fileDownloaded(let file) = reply, let url = files.url(of: file.location) {
            bytes = String(decoding: try Data(contentsOf: url), as: UTF8.self)
        }
        let answer = model.perform(request, from: step.device.caller, with: signIn, contents: contents, at: Self.now)
        return (reply.described(in: group, bytes), answer.reply.described(in: group, answer.contents))
    }

    private func reply(to request: ModelAccountRequest, _ device: OneDevice) async throws -> ModelAccountReply {
        let connection = device.connection
        do {
            switch request {
            case .checkCredentials:
                switch try await connection.checkCredentials() {
                case .user(let user):
                    device.note(user.identity?.deviceGrant)
                    return .user(try #require(user.identity))
                case .noUser: return .noUser
                case .retired(let type, _): return .retired(by: try #require(type))
                }
            case .begin(let userAppID, _):
                let outcome = try await connection.beginAccountSwitch(
                    BeginAccountSwitchRequest(userAppId: userAppID, cloudFolderName: "New Folder"))
                return try reply(outcome) { .begun($0.switchId, $0.state) }
            case .confirm(let id, let epoch, _):
                let outcome = try await connection.confirmAccountSwitch(
                    ConfirmAccountSwitchRequest(switchId: id, expectedEpoch: epoch))
                return try reply(outcome) {
                    .confirmed($0.accountEpoch, numberAwaiting: $0.numberAwaiting, isMoved: $0.movesContents == true)
                }
            case .cancel(let id): return try reply(try await connection.cancelAccountSwitch(id)) { .done }
            case .finish(let id, let missing):
                let outcome = try await connection.finishAccountSwitch(
                    FinishAccountSwitchRequest(switchId: id, missing: missing))
                return try reply(outcome) { _ in .done }
            }
        } catch let error as ServerConnectionError {
            if error.code == .signInRequired {
                return error.activeAccountType.map { .retired(by: $0) } ?? .noUser
            }
            return .refused(try #require(error.serverCode.flatMap { ErrorCode(rawValue: $0.rawValue) }, "\(error)"))
        }
    }

    private func reply<Value>(
        _ outcome: AccountSwitchOutcome<Value>, _ success: (Value) -> ModelAccountReply
    ) throws -> ModelAccountReply {
        switch outcome {
        case .success(let value): success(value)
        case .refused(let refusal): .refused(refusal.errorCode)
        }
    }

    private func describe(_ reply: ModelAccountReply) -> String {
        guard case .user(let identity) = reply else { return "\(reply)" }
        return "user(\(identity.userAppId), \(identity.accountEpoch))"
    }

    // MARK: Requests

    func next() -> Step {
        number += 1
        let device = devices[random.below(devices.count)]
        let identity = model.identities[UserID(1)]
        let active = identity?.active ?? ModelAccount(number: 0)
        let current = identity?.epoch ?? AccountEpoch(0)
        let isAnna = device.caller.user == UserID(1)
        let request = isAnna && random.below(5) < 2 ? Request.account(accountRequest(current)) : fileRequest(device)
        var account = active
        if case .account(let request) = request {
            switch request {
            case .begin: account = ModelAccount(number: random.below(4))
            case .confirm(let id, _, _): account = begun.last { $0.id == id }?.account ?? active
            default: break
            }
        }
        if random.once(in: 10) { account = ModelAccount(number: random.below(4)) }
        let epoch = random.once(in: 12) ? AccountEpoch(max(0, current.rawValue - 1)) : current
        return Step(device: device, account: account, epoch: epoch, request: request)
    }

    private func accountRequest(_ current: AccountEpoch) -> ModelAccountRequest {
        let id = (random.once(in: 6) ? random.pick(begun) : begun.last)?.id ?? AccountSwitchID(UUID().uuidString)!
        switch random.below(10) {
        case 0, 1: return .checkCredentials
        // The server allows ten proposals per hour; the model does not count them.
        case 2..<5 where begun.count < 9:
            return .begin(random.once(in: 12) ? UserAppID(UUID().uuidString)! : userAppID, switchID: id)
        case 5..<8:
            let epoch = random.once(in: 10) ? AccountEpoch(max(0, current.rawValue - 1)) : current
            return .confirm(id, epoch, movesContents: false)
        case 8 where random.once(in: 2): return .cancel(id)
        default: return .finish(id, random.once(in: 3) ? .markDeleted : .keepGone)
        }
    }

    private func fileRequest(_ device: OneDevice) -> Request {
        let files = model.groups[group]?.files ?? [:]
        let version = model.groups[group]?.masterVersion ?? .initial
        let commit = Request.files(
            .doneUploads(
                .init(
                    sharingGroupUUID: group, masterVersion: version, sharingGroupName: nil,
                    pushNotificationMessage: nil,
                    commitID: nil, numberOfDeletions: 0)), contents: nil)
        guard let id = random.pick(files.keys.sorted()), let file = files[id], !random.once(in: 5) else {
            if random.once(in: 3) { return commit }
            let id = FileUUID(group.rawValue.prefix(24) + String(format: "%012d", number))!
            return upload(id, nil, version, device.caller.user)
        }
        switch random.below(20) {
        case 0..<3: return upload(id, file, version, file.owner)
        case 3..<7: return commit
        case 7:
            return .files(
                .uploadDeletion(id, file.version, masterVersion: version, sharingGroupUUID: group), contents: nil)
        case 8..<10: return .files(.index(.init(sharingGroupUUID: group, since: nil)), contents: nil)
        case 10..<13:
            return .files(
                .downloadFile(id, file.version, file.text?.version, masterVersion: version, sharingGroupUUID: group),
                contents: nil)
        case 13: return .files(.getUploads(group), contents: nil)
        default:
            var attributes = SyncAttributes(fileUUID: id, sharingGroupUUID: group, mimeType: file.mimeType)
            attributes.appMetaData = nil
            let upload = FileReupload(
                attributes: attributes, fileVersion: file.version,
                cloudStorageType: model.storage(of: file.owner), switchID: nil,
                source: LocalFileLocation(base: .documents, path: "reupload \(number)"))
            return .files(.reuploadFile(upload), contents: random.once(in: 8) ? "others" : file.contents)
        }
    }

    private func upload(_ id: FileUUID, _ file: ModelFile?, _ version: MasterVersion, _ owner: UserID) -> Request {
        let upload = FileUpload(
            fileUUID: id, sharingGroupUUID: group, mimeType: MIMEType("text/plain")!,
            fileVersion: file?.version.next ?? .first, masterVersion: version, fileGroupUUID: nil, appMetaData: nil,
            undeleteServerFile: file?.isDeleted ?? false,
            source: LocalFileLocation(base: .documents, path: "upload \(number)"), fileSize: nil, fileModified: nil,
            cloudStorageType: model.storage(of: owner))
        return .files(.uploadFile(upload), contents: "contents \(number)")
    }
}

extension AccountSwitchRefusal {
    fileprivate var errorCode: ErrorCode {
        switch self {
        case .accountInUse: .accountInUse
        case .owningAccountRequired: .owningAccountRequired
        case .grantInvalid: .grantInvalid
        case .grantTooYoung: .grantTooYoung
        case .freshSignInRequired: .freshSignInRequired
        case .undoExpired: .undoExpired
        case .inProgress: .switchInProgress
        case .oldAccountProofRequired: .oldAccountProofRequired
        case .unknown: .switchUnknown
        case .confirmed: .switchConfirmed
        case .staleEpoch: .staleEpoch
        }
    }
}
