package import SyncProtocol

// Updates about the server and the user while the client runs.
extension SyncStateMachine {
    /// Sets the capabilities that the server has reported.
    package mutating func use(_ capabilities: ServerCapabilities) {
        configuration.capabilities = capabilities
    }

    /// Sets the storage of the user's own account; nil for an account without storage.
    package mutating func use(accountStorage: CloudStorageType?) {
        configuration.accountStorage = accountStorage
    }

    /// Sets the user; nil if unknown.
    package mutating func use(userID: UserID?) {
        configuration.userID = userID
    }

    /// Makes each sync fail with an error until it is cleared with nil. An active sync continues.
    package mutating func block(with error: SyncError?) {
        blockingError = error
    }

    /// Adds a group that the server has just created at the user's request.
    package mutating func addOwnGroup(_ group: SharingGroupUUID, name: String?) {
        guard state.groups[group] == nil else { return }
        state.groups.put(SharingEntry(sharingGroupUUID: group, name: name, permission: .admin))
    }

    /// Repeats downloads whose files are missing: an app may have moved a file and then ended before it could
    /// acknowledge the delivery. Must not be called while a sync is active.
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
