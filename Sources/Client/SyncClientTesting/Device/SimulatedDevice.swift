import SyncEngine
import SyncProtocol
import SyncStore

/// A device with an app, its files, and a client whose process may end at any time.
final class SimulatedDevice {
    /// The state of a file in the app.
    struct AppFile: Equatable {
        let group: SharingGroupUUID
        let fileGroup: FileGroupUUID?
        var contents: String?
        var text: String?
    }

    /// A change that the app made.
    struct Edit {
        let file: FileUUID
        let group: SharingGroupUUID
        /// Whether it need not arrive, because of the app's decision or the file's fate.
        var isExcused = false
        /// Whether the device may have a reason to send it a second time.
        var mayBeRepeated = false
        /// A later change by the same device that suffices if this one was not committed before it.
        var successor: String?
    }

    let index: Int
    let caller: ModelCaller
    var store: SimulatedStore
    /// Nil while the process is dead, or when the device no longer takes part.
    var engine: SyncStateMachine?
    /// Counts processes; replies to an earlier process are lost.
    var process = 0
    /// Requests of this process that were cancelled.
    var cancelled: Set<EngineToken> = []
    var isRetired = false
    /// The library's and the app's files on the device, by location.
    var storage: [LocalFileLocation: String] = [:]
    var files: [FileUUID: AppFile] = [:]
    /// The app's changes to contents, keyed by the contents, which are unique.
    var edits: [String: Edit] = [:]
    /// The app's changes to texts, likewise.
    var textEdits: [String: Edit] = [:]
    /// Everything shown to the app: versions of contents, texts, files out of reach, and deletions.
    var seenVersions: Set<SeenVersion> = []
    var seenTexts: Set<String> = []
    /// Contents that the app received or was shown in a conflict: unlike versions, a restored server does not reuse
    /// them.
    var seenContents: Set<String> = []
    var seenGone: Set<FileUUID> = []
    var seenDeletions: Set<FileUUID> = []
    /// Files that the app wants delivered again, and requests until it receives them.
    var wishes: Set<FileUUID> = []
    /// Files of which the app has requested the contents on demand, and has not evicted them.
    var asked: Set<FileUUID> = []
    /// Files that were complete when a process died, so that the app may have accepted them: the library delivers them
    /// again.
    var mayHaveTaken: Set<FileUUID> = []
    /// The latest change that was queued when the app was last asked a question: the answer covers no later one.
    var lastItemWhenAsked = RowID<UploadItem>(0)
    /// Groups whose files the app has removed at least once, because the user was not a member.
    var leftGroups: Set<SharingGroupUUID> = []
    /// Files for which the app was informed that a change was set aside, and has not decided yet.
    var failedFiles: Set<FileUUID> = []
    /// Files for which the app was informed that a change is not sent.
    var toldFiles: Set<FileUUID> = []
    /// The changes that waited in a group when the app was last informed that the user may not write there.
    var deniedItems: [SharingGroupUUID: Set<RowID<UploadItem>>] = [:]
    /// Whether the app ended the last sync early, by stopping it or by postponing an answer.
    var endedEarly = false
    /// The account that the app is signed in with; nil if users cannot switch.
    var account: ModelAccount?
    /// The user's storage, as stored by the library.
    var accountStorage = CloudStorageType.google
    var isBound = false
    /// Whether this process knows who is signed in.
    var isIdentified = false
    /// The account of the last proposal, and whether a request about it is in progress.
    var proposedAccount: ModelAccount?
    var isSwitching = false
    var errors: [SyncError] = []
    var locations = 0

    struct SeenVersion: Hashable {
        let file: FileUUID
        let version: FileVersion
    }

    init(index: Int, caller: ModelCaller, _ medium: SimulatedStore.Medium) throws {
        self.index = index
        self.caller = caller
        store = try SimulatedStore(medium)
    }

    /// A new location for a file.
    func makeLocation(_ base: LocalFileLocation.Base, _ contents: String) -> LocalFileLocation {
        locations += 1
        let location = LocalFileLocation(base: base, path: "\(locations)")
        storage[location] = contents
        return location
    }

    /// Excuses the items of a file whose fate an answer decides, and their contents.
    func excuse(_ file: FileUUID, where condition: (UploadItem) -> Bool) {
        guard let engine else { return }
        for item in engine.state.pendingItems(of: file) where condition(item) { excuse(item) }
    }

    /// Records that an item need not arrive.
    func excuse(_ item: UploadItem) {
        if let source = item.source, let contents = storage[source] { edits[contents]?.isExcused = true }
        if let text = item.appMetaData { textEdits[text]?.isExcused = true }
    }

    /// Records a successor for a file's closed changes, which replaces them if they cannot be sent; likewise for a text
    /// of a file that exists only if its contents can be sent.
    func supersede(_ file: FileUUID, contents: String?, text: String?) {
        guard let engine else { return }
        let entry = engine.state.directory[file]
        let isNew = entry?.fileVersion == nil || entry?.deletedOnServer == true
        for item in engine.state.pendingItems(of: file) where engine.state.queues[item.queueID]?.state != .open {
            if let contents, let known = item.source.flatMap({ storage[$0] }), known != contents {
                edits[known]?.successor = contents
            }
            if let text, let old = item.appMetaData, old != text { textEdits[old]?.successor = text }
            if isNew, item.kind == .appMetaData, text != nil, let old = item.appMetaData {
                textEdits[old]?.isExcused = true
            }
        }
    }

    /// The queued change to a file that no sync has closed; nil if there is none.
    func openItem(of file: FileUUID) -> UploadItem? {
        guard let state = engine?.state else { return nil }
        return state.items.rows(at: .file(file)).first { state.queues[$0.queueID]?.state == .open }
    }

    /// The app removes its contents of a file, and wants no others.
    func drop(_ file: FileUUID) {
        files[file] = nil
        wishes.remove(file)
        asked.remove(file)
    }

    /// Whether the app has, had or wants contents of a file, or changes it: then its versions may be downloaded.
    func mayReceive(_ file: FileUUID, in group: SharingGroupUUID) -> Bool {
        guard let state = engine?.state, state.groups[group]?.downloadPolicy == .onDemand else { return true }
        return files[file]?.contents != nil || asked.contains(file) || wishes.contains(file)
            || mayHaveTaken.contains(file) || seenGone.contains(file) || leftGroups.contains(group)
            || !state.pendingItems(of: file).isEmpty
    }

    /// Records that no further change to a file needs to arrive, except those of these items.
    func excuseAll(of file: FileUUID, except items: [UploadItem] = []) {
        let contents = items.compactMap { $0.source.flatMap { storage[$0] } }
        let texts = items.compactMap(\.appMetaData)
        for (text, edit) in edits where edit.file == file && !contents.contains(text) {
            edits[text]?.isExcused = true
        }
        for (text, edit) in textEdits where edit.file == file && !texts.contains(text) {
            textEdits[text]?.isExcused = true
        }
    }

    /// Records that a group's closed changes may be committed twice: a user who lost the permission to write cannot
    /// find out whether a commit whose reply was lost was carried out.
    func excuseRepetitions(in group: SharingGroupUUID) {
        let closed = engine.map { engine in
            engine.state.closedQueues(of: group).flatMap { engine.state.items(in: $0.id) }
                .compactMap { $0.source.flatMap { storage[$0] } }
        }
        // While no process is running, it is unknown which changes are closed.
        for (contents, edit) in edits where edit.group == group && closed?.contains(contents) != false {
            edits[contents]?.mayBeRepeated = true
        }
    }

    /// Records that no further change in a group needs to arrive.
    func excuseAll(in group: SharingGroupUUID) {
        for (contents, edit) in edits where edit.group == group { edits[contents]?.isExcused = true }
        for (text, edit) in textEdits where edit.group == group { textEdits[text]?.isExcused = true }
    }
}

/// The persistent state of a simulated device: a value in memory, and for some devices also the real database, which
/// must have the same contents.
struct SimulatedStore {
    private(set) var state = ClientState()
    private let database: ClientDatabase?

    private static let empty = Result { () throws(StoreError) in try ClientDatabase(path: nil) }

    /// The location of the database.
    enum Medium {
        case none
        case memory
        case file(String)
    }

    init(_ medium: Medium) throws(StoreError) {
        switch medium {
        case .none: database = nil
        case .memory: database = try ClientDatabase(copying: try Self.empty.get())
        case .file(let path): database = try ClientDatabase(path: path)
        }
    }

    mutating func write(_ changes: StateChanges) throws(StoreError) {
        state.apply(changes)
        try database?.write(changes)
    }

    /// The state that a new process loads; must equal ``state``.
    func load() throws(StoreError) -> ClientState {
        try database?.load() ?? state
    }
}

/// Generates commit ids that are unique within a history.
final class CommitIDSource: @unchecked Sendable {
    // Used by one thread: a history runs on its caller's thread.
    private var made = 0

    func make() -> CommitID {
        made += 1
        let digits = String(made)
        guard
            let id = CommitID("00000000-0000-4000-9000-" + String(repeating: "0", count: 12 - digits.count) + digits)
        else { preconditionFailure("the text is a UUID") }
        return id
    }
}
