import Foundation
import SyncClient
import Synchronization
import TestSupport

/// The kinds of server on which the same tests must pass.
enum ServerKind: Sendable, CaseIterable {
    case ours
    /// The same server; the app sends each commit as a separate request.
    case oursWithoutBatches
    /// The same server without its extensions, like older ones.
    case older
}

/// A device with the library and an app, connected to a running stack.
final class Device: Sendable {
    let user: TestUser
    let kind: ServerKind
    let credentials: PersonCredentials
    let executor: MeddlingExecutor
    let app: TestApp
    let client: SyncServer
    private let scratch: ScratchFolder
    /// The folder of the device's files and of the library's store.
    var folder: URL { scratch.url }
    /// The folder of the library's store.
    var storeFolder: URL { folder.appending(path: "store") }
    /// The group created at the person's sign-up.
    let group: SharingGroupUUID

    init(
        _ user: TestUser, _ kind: ServerKind = .ours, scratch: ScratchFolder? = nil, group: SharingGroupUUID? = nil,
        configure: (inout SyncServer.Configuration) -> Void = { _ in }
    ) throws {
        self.user = user
        self.kind = kind
        credentials = PersonCredentials(user.account)
        executor = MeddlingExecutor()
        app = TestApp()
        self.scratch = try scratch ?? ScratchFolder("device")
        self.group = try group ?? SharingGroupUUID(user.group).unwrapped()
        let address = user.server.address
        let text =
            kind == .older
            ? try user.server.environment.value("SYNC_OLDER_HTTP_URL")
            : "http://\(address.host):\(address.port)\(address.prefix)"
        var configuration = SyncServer.Configuration(
            serverURL: try URL(string: text).unwrapped(), storeFolder: self.scratch.url.appending(path: "store"),
            cloudFolderName: user.account.provider == .google ? user.folder : nil)
        configuration.minimumServerVersion = ServerVersion(0, 25, 1)
        configuration.baseFolders = [.documents: self.scratch.url]
        configuration.syncsPendingUploadsAtLaunch = false
        if kind == .oursWithoutBatches { configuration.maximumBatchBytes = nil }
        configure(&configuration)
        // Skips pauses to save time; other tests check them.
        let sleep: @Sendable (Duration) async throws -> Void = { _ in try Task.checkCancellation() }
        var environment = SyncEnvironment.system
        environment.sleep = sleep
        client = try SyncServer(
            configuration, credentials, app, environment, executor: executor,
            connectionEnvironment: ConnectionEnvironment(sleep: sleep, randomFraction: { 0 }, now: { Date() }))
        app.change { $0.client = client }
    }

    /// A device of someone who has just signed up with the library.
    static func signedUp(
        _ server: TestServer, _ kind: ServerKind = .ours, _ provider: SandboxProvider = .google, quotaBytes: Int? = nil
    ) async throws -> Device {
        let device = try Device(server.newcomer(provider, quotaBytes: quotaBytes), kind)
        try await device.client.addUser(sharingGroupUUID: device.group, sharingGroupName: "Family")
        return device
    }

    /// Another device of the same person, which knows the groups.
    func another(configure: (inout SyncServer.Configuration) -> Void = { _ in }) async throws -> Device {
        let device = try Device(user.onAnotherDevice(), kind, group: group, configure: configure)
        guard case .user = try await device.client.checkForExistingUser() else { throw TestApp.Refusal() }
        device.app.forget()
        return device
    }

    /// A device of another person, who joins the group by an invitation.
    func invited(_ provider: SandboxProvider = .facebook, permission: Permission = .write) async throws -> Device {
        let code = try await client.createSharingInvitation(withPermission: permission, sharingGroupUUID: group)
        let device = try Device(user.server.newcomer(provider), kind, group: group)
        try await device.client.redeemSharingInvitation(invitationCode: code)
        device.app.forget()
        return device
    }

    /// The same device after its process has ended, at any point.
    func relaunched(configure: (inout SyncServer.Configuration) -> Void = { _ in }) async throws -> Device {
        await client.close()
        return try onSameStore(configure: configure)
    }

    /// Another process or instance that uses the device's store.
    func onSameStore(configure: (inout SyncServer.Configuration) -> Void = { _ in }) throws -> Device {
        try Device(user, kind, scratch: scratch, group: group, configure: configure)
    }

    // MARK: Actions of an app

    /// A file of the app.
    func file(_ bytes: Data) throws -> LocalFileLocation {
        let name = UUID().uuidString
        try bytes.write(to: folder.appending(path: name))
        return LocalFileLocation(base: .documents, path: name)
    }

    func attributes(
        _ file: FileUUID, text: String? = nil, type: String = "text/plain", fileGroup: FileGroupUUID? = nil,
        group: SharingGroupUUID? = nil
    ) -> SyncAttributes {
        var attributes = SyncAttributes(
            fileUUID: file, sharingGroupUUID: group ?? self.group, mimeType: MIMEType(type), fileGroupUUID: fileGroup)
        attributes.appMetaData = text
        return attributes
    }

    /// Queues a file's contents; creates a file unless one is given.
    @discardableResult
    func upload(
        _ contents: String, as file: FileUUID = .random(), text: String? = nil, fileGroup: FileGroupUUID? = nil,
        group: SharingGroupUUID? = nil
    ) throws -> FileUUID {
        try client.uploadImmutable(
            localFile: self.file(Data(contents.utf8)),
            withAttributes: attributes(file, text: text, fileGroup: fileGroup, group: group))
        return file
    }

    func uploadText(_ text: String, of file: FileUUID) throws {
        try client.uploadAppMetaData(attributes: attributes(file, text: text))
    }

    /// Queues contents and syncs.
    @discardableResult
    func publish(
        _ contents: String, as file: FileUUID = .random(), text: String? = nil, fileGroup: FileGroupUUID? = nil
    ) async throws -> FileUUID {
        try upload(contents, as: file, text: text, fileGroup: fileGroup)
        try await sync()
        return file
    }

    @discardableResult
    func sync(_ group: SharingGroupUUID? = nil) async throws -> SyncReport {
        try await client.synced(sharingGroupUUID: group ?? self.group)
    }

    /// The files that a sync delivers.
    func received() async throws -> [TestApp.Taken] {
        app.forget()
        try await sync()
        return app.taken
    }

    /// The events during `work`, which waits for its syncs.
    func events(_ desired: EventDesired = .all, during work: () async throws -> Void) async throws -> [SyncEvent] {
        let stream = client.events(desired)
        try await work()
        // The stream has buffered all events; after cancellation, the reader receives them before the stream ends.
        let reading = Task {
            var events: [SyncEvent] = []
            for await event in stream { events.append(event) }
            return events
        }
        reading.cancel()
        return await reading.value
    }

    /// The files and records that the library still holds: none if all work is done.
    func leftovers() throws -> [String] {
        let store = storeFolder.appending(path: "files")
        let report = client.pendingReport()
        return try FileManager.default.contentsOfDirectory(atPath: store.path)
            + report.changes.map { "\($0)" } + report.downloads.map { "\($0)" } + client.logAllTracking().violations
    }

    /// The file's row in the index.
    func row(_ file: FileUUID) throws -> JSONValue? {
        try user.index(of: group.rawValue).files.first { $0.fileUUID?.text == file.rawValue }
    }
}

extension FileUUID {
    static func random() -> FileUUID { FileUUID(UUID().uuidString)! }
}

extension FileGroupUUID {
    static func random() -> FileGroupUUID { FileGroupUUID(UUID().uuidString)! }
}

extension SharingGroupUUID {
    static func random() -> SharingGroupUUID { SharingGroupUUID(UUID().uuidString)! }
}

extension Optional {
    /// The value; fails the test if there is none.
    func unwrapped() throws -> Wrapped {
        guard let self else { throw TestApp.Refusal() }
        return self
    }
}

/// The error code with which a call fails; nil if it succeeds.
func refusal(_ body: () async throws -> some Any) async -> SyncError.Code? {
    do {
        _ = try await body()
        return nil
    } catch {
        return (error as? SyncError)?.code
    }
}
