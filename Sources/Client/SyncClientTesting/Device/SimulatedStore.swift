internal import SyncEngine
internal import SyncStore

/// What survives the process of a simulated device: a value in memory, and for some devices the real database beside
/// it, which must hold just the same.
struct SimulatedStore {
    private(set) var state = ClientState()
    private let database: ClientDatabase?

    init(usesDatabase: Bool) throws(StoreError) {
        database = usesDatabase ? try ClientDatabase(path: nil) : nil
    }

    mutating func write(_ changes: StateChanges) throws(StoreError) {
        state.apply(changes)
        try database?.write(changes)
    }

    /// What a new process finds.
    func load() throws(StoreError) -> ClientState {
        try database?.load() ?? state
    }

    /// Whether the database holds what the memory does.
    func isConsistent() throws(StoreError) -> Bool {
        guard let database else { return true }
        return try database.load() == state
    }
}
