import Foundation
import SyncClient
import SyncClientTesting
import Synchronization
import Testing

@Suite("Refusals by the simulated service")
struct RefusalTests {
    /// Each refusal of the table in the article "When the server says no".
    enum Situation: CaseIterable, Sendable {
        case malware, tooLarge, unknownType
        case full, revoked, unreachable, hostLeft
        case demoted, removed, signedOut, switched, noUser, quota
        case contradiction
        case maintenance, readOnly, defect, tooManyRequests

        var refusalClass: RefusalClass {
            switch self {
            case .malware, .tooLarge, .unknownType: .file
            case .full, .revoked, .unreachable, .hostLeft: .storage
            case .demoted, .removed, .signedOut, .switched, .noUser, .quota: .caller
            case .contradiction: .knowledge
            case .maintenance, .readOnly, .defect, .tooManyRequests: .world
            }
        }

        /// What the app learns, and the server's own code if the library passes it on.
        var error: (code: SyncError.Code, serverCode: ErrorCode?, recovery: SyncError.Recovery) {
            switch self {
            case .malware: (.requestRefused, .cloudRefused, .replaceFile)
            case .tooLarge: (.requestRefused, .bodyTooLarge, .replaceFile)
            case .unknownType: (.requestRefused, .unknownMimeType, .replaceFile)
            case .full: (.storageFull, .cloudQuotaExceeded, .freeSpace)
            case .revoked: (.storageUnauthorized, .cloudAuthorizationRevoked, .signInAgain)
            case .unreachable: (.storageUnavailable, .cloudUnavailable, .retryLater)
            case .hostLeft: (.storageOwnerMissing, .ownerRemoved, .askOwner)
            case .demoted: (.permissionDenied, nil, .none)
            case .removed: (.notAMember, nil, .none)
            case .signedOut: (.signInRequired, nil, .signInAgain)
            case .switched: (.signedOutRemotely, nil, .signInAgain)
            case .noUser: (.noUser, nil, .signInAgain)
            case .quota: (.requestRefused, .quotaStagedChanges, .retryLater)
            case .contradiction: (.requestRefused, .fileVersionMismatch, .retryLater)
            case .maintenance, .readOnly: (.serverDown, nil, .retryLater)
            case .defect: (.requestRefused, .internal, .retryLater)
            case .tooManyRequests: (.requestRefused, .tooManyRequests, .retryLater)
            }
        }

        func begin(_ service: SimulatedService) {
            let (ada, bob, group) = (service.person(1), service.person(2), service.sharingGroupUUID)
            switch self {
            case .malware:
                service.refuseUploads { $0.contents.starts(with: Data("virus".utf8)) ? .cloudRefused : nil }
            case .tooLarge: service.refuseUploads { $0.contents.count > 4 ? .bodyTooLarge : nil }
            case .unknownType: service.refuseUploads { $0.mimeType == .jpeg ? .unknownMimeType : nil }
            case .full: bob.storage = .full(aboveBytes: 4)
            case .revoked: bob.storage = .revoked
            case .unreachable: bob.storage = .unreachable
            case .hostLeft: ada.permissions[group] = nil
            case .demoted: bob.permissions[group] = .read
            case .removed: bob.permissions[group] = nil
            case .signedOut: bob.signIn = .rejected
            case .switched: bob.signIn = .switched(to: .dropbox)
            case .noUser: bob.signIn = .unknown
            case .quota: service.refuseUploads { $0.userID == bob.userID ? .quotaStagedChanges : nil }
            case .contradiction: service.refuseUploads { _ in .fileVersionMismatch }
            case .maintenance: service.condition = .maintenance(message: "Back at ten", retryAfter: .seconds(30))
            case .readOnly: service.condition = .readOnly
            case .defect: service.condition = .failing(.internal)
            case .tooManyRequests: service.condition = .failing(.tooManyRequests, retryAfter: .seconds(5))
            }
        }

        func end(_ service: SimulatedService) {
            service.refuseUploads { _ in nil }
            service.condition = .open
            service.person(2).signIn = .accepted
            if self != .hostLeft { service.person(2).storage = .available }
            for user in 1...2 { service.person(user).permissions[service.sharingGroupUUID] = .admin }
        }
    }

    @Test(
        "Each refusal reaches the app with its code and remedy, and its change arrives afterwards",
        arguments: Situation.allCases)
    func situations(situation: Situation) async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        if situation == .hostLeft { service.person(2).storage = .hosted(by: 1) }
        let ada = try await service.addPhone(user: 1) { try PhotoApp($0) }
        let bob = try await service.addPhone(user: 2) { try PhotoApp($0) }
        let app = bob.app
        let photo = try app.add("virus.jpeg")
        situation.begin(service)
        let thrown = Mutex<SyncError?>(nil)

        try await service.run {
            do { try await app.client.synced(sharingGroupUUID: service.sharingGroupUUID) } catch {
                thrown.withLock { $0 = error as? SyncError }
            }
        }

        let change = try #require(app.client.pendingReport().changes.first { $0.fileUUID == photo })
        let error = try #require(thrown.withLock { $0 } ?? change.error)
        #expect(error.code == situation.error.code)
        #expect(error.recovery == situation.error.recovery)
        if let code = situation.error.serverCode { #expect(error.serverCode == code.rawValue) }
        #expect(change.isDead == [.file, .knowledge].contains(situation.refusalClass) || situation == .removed)
        if situation == .maintenance {
            #expect(error.message == "Back at ten")
            #expect(error.retryAfter == .seconds(30))
        }
        if situation == .full || situation == .revoked { #expect(error.storage == .own) }
        #expect(service.files[photo] == nil)

        situation.end(service)
        if [.file, .knowledge].contains(situation.refusalClass) { try app.client.retryUpload(forFileUUID: photo) }
        try await service.settle()

        #expect(service.files[photo]?.contents == Data("virus.jpeg".utf8))
        #expect(ada.app.contents(of: photo) == Data("virus.jpeg".utf8))
        #expect(service.violations() == [])
    }

    @Test("There is a situation for each class of refusals")
    func classes() {
        #expect(Set(Situation.allCases.map(\.refusalClass)) == Set(RefusalClass.allCases))
    }

    @Test("A reader's queue calls throw at once; a full storage accepts deletions, which make room")
    func explicitCalls() async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        let phone = try await service.addPhone(user: 1) { try PhotoApp($0) }
        let (app, ada) = (phone.app, service.person(1))
        let old = try app.add("old picture")
        try await service.run { try await app.sync() }

        ada.storage = .full(aboveBytes: 0)
        let new = try app.add("new picture")
        try await service.run { try await app.sync() }
        try app.client.delete(fileWithUUID: old)
        try await service.run { try await app.sync() }
        #expect(service.files[old]?.isDeleted == true)
        #expect(service.files[new] == nil)
        ada.storage = .available
        try await service.run { try await app.sync() }
        #expect(service.files[new] != nil)

        ada.permissions[service.sharingGroupUUID] = .read
        try await service.run { try await app.sync() }
        #expect(throws: SyncError.self) { try app.add("not mine") }
        do { try app.client.delete(fileWithUUID: new) } catch { #expect(error.code == .permissionDenied) }
        #expect(service.violations() == [])
    }

    @Test("When an owner revokes the access, others find the files out of reach, until the owner signs in again")
    func revokedOwner() async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        let ada = try await service.addPhone(user: 1) { try PhotoApp($0) }
        let (adasApp, owner) = (ada.app, service.person(1))
        let photo = try adasApp.add("lake")
        try await service.run { try await adasApp.sync() }
        owner.storage = .revoked
        let bob = try await service.addPhone(user: 2) { try PhotoApp($0) }
        let bobsApp = bob.app

        try await service.run { try await bobsApp.sync() }
        #expect(bobsApp.gone[photo] == .authTokenExpiredOrRevoked)
        #expect(bobsApp.contents(of: photo) == nil)
        try bobsApp.replace(photo, with: "lake, brighter")
        try await service.run { try await bobsApp.sync() }
        let error = try #require(bobsApp.client.pendingReport().changes.first?.error)
        #expect(error.code == .storageUnauthorized)
        #expect(error.storage == .other(owner.userID))
        #expect(error.recovery == .askOwner)

        owner.storage = .available
        try await service.settle()
        #expect(adasApp.contents(of: photo) == Data("lake, brighter".utf8))
        #expect(service.violations() == [])
    }

    @Test("A file whose owner removed its bytes accepts no changes")
    func missingFile() async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        let ada = try await service.addPhone(user: 1) { try PhotoApp($0) }
        let adasApp = ada.app
        let photo = try adasApp.add("lake")
        try await service.run { try await adasApp.sync() }
        service.missingFiles = [photo]
        let bob = try await service.addPhone(user: 2) { try PhotoApp($0) }
        let bobsApp = bob.app
        try await service.run { try await bobsApp.sync() }

        #expect(bobsApp.gone[photo] == .fileRemovedOrRenamed)
        do {
            try bobsApp.replace(photo, with: "mine")
            Issue.record("the change was queued")
        } catch let error as SyncError { #expect(error.code == .fileIsGone) }
    }

    @Test("A restored server receives what the apps still have", arguments: [true, false])
    func restoredServer(supplies: Bool) async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        let phone = try await service.addPhone { try PhotoApp($0, supplies: supplies) }
        let app = phone.app
        let events = app.client.events(.all)
        let errors = app.client.errors
        service.backUp()
        let photo = try app.add("lake")
        try await service.run { try await app.sync() }
        service.restore()
        #expect(service.files[photo] == nil)

        try await service.settle()

        #expect((service.files[photo] != nil) == supplies)
        // Ends the streams.
        await app.client.close()
        var reported: [SharingGroupUUID] = []
        for await case .serverRestored(let group) in events { reported.append(group.sharingGroupUUID) }
        #expect(reported == [service.sharingGroupUUID])
        var unsupplied: [FileUUID?] = []
        for await error in errors where error.code == .serverRestored { unsupplied.append(error.fileUUID) }
        #expect(unsupplied == (supplies ? [] : [photo]))
    }

    @Test("Groups have separate members and permissions")
    func groups() async throws {
        let service = SimulatedService(seed: 1, faults: .none)
        let (ada, bob) = (service.person(1), service.person(2))
        let album = service.addGroup(named: "Album")
        ada.permissions[album] = .write
        bob.permissions[service.sharingGroupUUID] = .read
        let adasPhone = try await service.addPhone(user: 1) { try PhotoApp($0) }
        let bobsPhone = try await service.addPhone(user: 2) { try PhotoApp($0) }
        let adasApp = adasPhone.app

        #expect(ada.permissions == [service.sharingGroupUUID: .admin, album: .write])
        #expect(bob.permissions == [service.sharingGroupUUID: .read])
        let photo = try adasApp.add("lake", to: album)
        try await service.run { try await adasApp.sync(album) }
        #expect(service.files(inSharingGroup: album)[photo] != nil)
        #expect(bobsPhone.app.client.sharingGroups.map(\.permission) == [.read])
        bob.permissions[album] = .read
        try await service.settle()
        #expect(bobsPhone.app.contents(of: photo) == Data("lake".utf8))
        #expect(Set(bobsPhone.app.client.sharingGroups.map(\.sharingGroupName)) == ["Simulated", "Album"])
        #expect(service.violations() == [])
    }

    @Test("Whatever the server refuses in between, no photo is lost, and all phones agree", arguments: 0..<4)
    func histories(block: UInt64) async throws {
        for seed in block * 3..<block * 3 + 3 {
            let service = SimulatedService(seed: seed, faults: [.all, .refusals])
            var phones: [SimulatedPhone<PhotoApp>] = []
            for user in [1, 2, 3] { phones.append(try await service.addPhone(user: user) { try PhotoApp($0) }) }
            var queued: [FileUUID: Data] = [:]
            for number in 1...12 {
                let app = phones[service.random(below: phones.count)].app
                // A reader's call throws, and queues nothing.
                if let photo = try? app.add("photo \(number)") { queued[photo] = Data("photo \(number)".utf8) }
                try? app.client.sync(sharingGroupUUID: service.sharingGroupUUID)
                if service.random(below: 2) == 0 { try await service.run() }
            }
            try await service.settle()

            #expect(service.files.mapValues(\.contents) == queued, "seed \(seed)")
            for phone in phones { #expect(phone.app.allContents == queued, "seed \(seed)") }
            #expect(service.violations() == [])
        }
    }
}

/// An app with immutable photos, which are stored under their UUIDs.
private final class PhotoApp: SyncServerDelegate {
    let client: SyncServer
    private let folder: URL
    private let group: SharingGroupUUID
    private let supplies: Bool
    private let reasons = Mutex<[FileUUID: GoneReason]>([:])

    /// - Parameter supplies: Whether it supplies contents that a restored server has lost.
    init(_ launch: SimulatedLaunch, supplies: Bool = true) throws {
        folder = launch.folder
        group = launch.sharingGroupUUID
        self.supplies = supplies
        client = try launch.makeClient { $0.conflictResolver = .localWins }
        client.delegate = self
    }

    var gone: [FileUUID: GoneReason] { reasons.withLock { $0 } }

    private func url(_ file: FileUUID) -> URL { folder.appending(path: file.rawValue) }

    func contents(of file: FileUUID) -> Data? { try? Data(contentsOf: url(file)) }

    var allContents: [FileUUID: Data] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let files = names.compactMap(FileUUID.init).map { ($0, contents(of: $0) ?? Data()) }
        return Dictionary(uniqueKeysWithValues: files)
    }

    func add(_ contents: String, to group: SharingGroupUUID? = nil) throws -> FileUUID {
        let file = FileUUID()
        try write(contents, to: file, in: group)
        return file
    }

    func replace(_ file: FileUUID, with contents: String) throws { try write(contents, to: file, in: nil) }

    private func write(_ contents: String, to file: FileUUID, in group: SharingGroupUUID?) throws {
        let draft = folder.appending(path: "draft")
        try Data(contents.utf8).write(to: draft)
        try client.uploadCopy(
            localFile: client.location(of: draft),
            withAttributes: SyncAttributes(fileUUID: file, sharingGroupUUID: group ?? self.group, mimeType: .jpeg))
        try Data(contents.utf8).write(to: url(file))
    }

    func sync(_ group: SharingGroupUUID? = nil) async throws {
        try await client.synced(sharingGroupUUID: group ?? self.group)
    }

    func contentForReupload(of attributes: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        let file = url(attributes.fileUUID)
        return supplies && FileManager.default.fileExists(atPath: file.path)
            ? .file(client.location(of: file)) : .notAvailable
    }

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        for operation in group {
            let file = operation.attributes.fileUUID
            reasons.withLock { $0[file] = nil }
            switch operation.kind {
            case .file(let location, _):
                guard let source = client.url(of: location) else { continue }
                try Data(contentsOf: source).write(to: url(file))
            case .deletion: try? FileManager.default.removeItem(at: url(file))
            default: break
            }
        }
    }

    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws {
        for operation in group {
            guard let reason = operation.attributes.gone else { continue }
            reasons.withLock { $0[operation.attributes.fileUUID] = reason }
        }
    }
}
