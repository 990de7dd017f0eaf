import Foundation
import SyncClient
import SyncEngine
import Synchronization

/// Answers requests from a script, without a network.
final class ScriptedPerformer: RequestPerformer {
    private struct State {
        var requests: [ServerRequest] = []
        var answer: @Sendable (ServerRequest) async -> ServerReply
    }

    private let state: Mutex<State>

    init(_ answer: @escaping @Sendable (ServerRequest) async -> ServerReply) {
        state = Mutex(State(answer: answer))
    }

    var requests: [ServerRequest] { state.withLock { $0.requests } }

    func reply(
        to request: ServerRequest, files: LibraryFiles, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> ServerReply {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        return await answer(request)
    }
}

/// A client whose server is a function, with one group.
struct Bench: Sendable {
    static let group = SharingGroupUUID("11111111-0000-4000-8000-000000000001")!

    let client: SyncServer
    let performer: ScriptedPerformer
    let folder: URL
    let pauses: Pauses

    /// Records pauses instead of waiting.
    final class Pauses: Sendable {
        private let state = Mutex<[Duration]>([])
        var all: [Duration] { state.withLock { $0 } }
        func add(_ pause: Duration) { state.withLock { $0.append(pause) } }
    }

    init(
        folder: URL? = nil, resumesAtLaunch: Bool = false,
        _ answer: @escaping @Sendable (ServerRequest) async -> ServerReply
    ) throws {
        let folder = folder ?? FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString)")
        self.folder = folder
        let (performer, pauses) = (ScriptedPerformer(answer), Pauses())
        (self.performer, self.pauses) = (performer, pauses)
        var environment = SyncEnvironment.system
        environment.sleep = { pauses.add($0) }
        environment.randomSeconds = { $0.lowerBound }
        var configuration = SyncServer.Configuration(
            serverURL: URL(string: "https://sync.example.com")!, storeFolder: folder)
        configuration.syncsPendingUploadsAtLaunch = resumesAtLaunch
        client = try SyncServer(
            configuration, nil, environment, accountStorage: .google, capabilities: .all, performer: performer)
    }

    /// The list of groups, with the group's files if requested.
    static func index(_ request: ServerRequest, _ files: [FileInfo] = [], masterVersion: Int64 = 0) -> ServerReply {
        guard case .index(let parameters) = request else { return .failed(.unreachable) }
        let info = SharingGroupInfo(
            sharingGroupUUID: group, sharingGroupName: nil, deleted: false, masterVersion: MasterVersion(masterVersion),
            permission: .admin, sharingGroupUsers: [], cloudStorageType: nil)
        let listed = parameters.sharingGroupUUID.map { _ in
            IndexResponse.Files(masterVersion: MasterVersion(masterVersion), fileIndex: files)
        }
        return .index(IndexResponse(files: listed, sharingGroups: [info]))
    }

    static func attributes() -> SyncAttributes {
        SyncAttributes(
            fileUUID: FileUUID(UUID().uuidString)!, sharingGroupUUID: group, mimeType: MIMEType("text/plain"))
    }

    /// The names of the library's own files.
    func ownFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "files").path)
    }
}
