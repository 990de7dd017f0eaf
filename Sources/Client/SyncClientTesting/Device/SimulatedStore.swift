internal import SyncEngine
internal import SyncStore

/// The persistent state of a simulated device: a value in memory, and for some devices also the real database, which
/// must have the same contents.
struct SimulatedStore {
    private(set) var state = ClientState()
    private let database: ClientDatabase?

    /// The location of the database.
    enum Medium {
        case none
        case memory
        case file(String)
    }

    init(_ medium: Medium) throws(StoreError) {
        switch medium {
        case .none: database = nil
        case .memory: database = try ClientDatabase(path: nil)
        case .file(let path): database = try ClientDatabase(path: path)
        }
    }

    mutating func write(_ changes: StateChanges) throws(StoreError) {
        state.apply(changes)
        try database?.write(changes)
    }

    /// The state that a new process loads.
    func load() throws(StoreError) -> ClientState {
        try database?.load() ?? state
    }

    /// Whether the database has the same contents as the memory.
    func isConsistent() throws(StoreError) -> Bool {
        guard let database else { return true }
        return try database.load() == state
    }
}
