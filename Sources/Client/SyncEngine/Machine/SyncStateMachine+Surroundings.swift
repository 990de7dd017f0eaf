package import SyncProtocol

// What the client learns of its server and its user while it runs.
extension SyncStateMachine {
    /// Takes over what the server turned out to be able to do.
    package mutating func use(_ capabilities: ServerCapabilities) {
        configuration.capabilities = capabilities
    }

    /// Takes over which storage the user's own account has; nil for an account without.
    package mutating func use(accountStorage: CloudStorageType?) {
        configuration.accountStorage = accountStorage
    }

    /// Makes each sync fail with an error until it is taken back with nil. An active sync goes on.
    package mutating func block(with error: SyncError?) {
        blockingError = error
    }

    /// Adds a group that the server has just made for the user on their own demand.
    package mutating func addOwnGroup(_ group: SharingGroupUUID, name: String?) {
        guard state.groups[group] == nil else { return }
        state.groups.put(SharingEntry(sharingGroupUUID: group, name: name, permission: .admin))
    }

    /// Fetches anew what was downloaded for the app, but is not there any more: an app may have moved a file and then
    /// ended before it could acknowledge the delivery. Not while a sync is active.
    package mutating func forgetMissingFiles(_ isMissing: (LocalFileLocation) -> Bool) {
        for item in state.downloads.rows(where: { $0.location.map(isMissing) ?? false }) {
            state.downloads.update(item.key) {
                $0.status = .notStarted
                $0.location = nil
            }
            state.downloadGroups.update(item.groupID) { $0.status = .notStarted }
        }
        for entry in state.transfers.rows(where: { isMissing($0.location) }) { state.transfers[entry.key] = nil }
    }
}
