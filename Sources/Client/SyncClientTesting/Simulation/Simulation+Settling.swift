internal import SyncEngine
internal import SyncProtocol

// The end of a history: no more faults, and all devices sync until nothing changes.
extension Simulation {
    /// More than any history needs: each round, every device syncs every group.
    private static let maximumRounds = 16
    /// After these rounds, every device has uploaded its contents of waiting files.
    private static let roundsBeforeReplacements = 4

    func settle() throws {
        isSettling = true
        server.missingFiles = []
        server.refusesFiles = false
        server.revokedUsers = []
        server.fullUsers = []
        for (id, group) in server.groups {
            for (user, permission) in group.members where permission == .read {
                server.groups[id]?.members[user] = .write
                server.raiseMasterVersion(of: id)
            }
        }
        for round in 0..<Self.maximumRounds {
            let before = masterVersions
            log("round \(round)")
            // Staged changes that cannot be withdrawn from a server without extensions expire.
            if !options.hasExtensions { time += 8 * 86_400 }
            for device in devices {
                try launch(device)
                device.errors = []
            }
            try runUntilQuiet()
            if options.hasAccountSwitches {
                for device in devices { try settleAccount(device) }
                if round >= Self.roundsBeforeReplacements { try replaceMissing() }
            }
            for device in devices where device.engine != nil {
                try tidy(device)
                let groups = device.engine?.sharingGroups.map(\.sharingGroupUUID) ?? []
                if let open = device.engine?.state.openQueue?.sharingGroupUUID { try sync(device, open) }
                try sync(device, nil)
                // Files that wait for their bytes must be fetched without a request.
                let asksForGone = !options.hasAccountSwitches || round % 2 == 1
                for group in groups { try sync(device, group, reAttemptGone: asksForGone) }
                try runUntilQuiet()
                // A group that has just reappeared in the list is synced in the next round.
                checkFetched(device, in: groups)
            }
            if before == masterVersions, !isAnyMissing, devices.allSatisfy(isAtRest) { return }
        }
        violation("the clients do not come to rest")
        for device in devices where !isAtRest(device) {
            let items = device.engine?.state.items.inOrder.map { "\($0)" } ?? []
            log("\(device.index) does not rest: \(items), \(device.wishes), \(device.errors)")
        }
    }

    private var masterVersions: [SharingGroupUUID: MasterVersion] {
        server.groups.mapValues(\.masterVersion)
    }

    private var isAnyMissing: Bool {
        server.groups.values.contains { group in
            group.files.values.contains { !$0.isDeleted && $0.content != .stored }
        }
    }

    private func isAtRest(_ device: SimulatedDevice) -> Bool {
        guard let engine = device.engine else { return true }
        return !engine.uploadsPending && engine.state.downloads.isEmpty && device.wishes.isEmpty
            && engine.state.items.all.allSatisfy { engine.state.queues[$0.queueID]?.state == .dead }
            && engine.sharingGroups.allSatisfy { group in
                !group.syncNeeded && !engine.state.directory.contains(at: .gone(group.sharingGroupUUID))
            } && device.errors.isEmpty
    }

    /// An app's handling of unfinished changes.
    private func tidy(_ device: SimulatedDevice) throws {
        guard let state = device.engine?.state else { return }
        // An event may have been lost with its process, but changes that were set aside persist.
        for item in state.items.inOrder where state.queues[item.queueID]?.state == .dead {
            if let file = item.fileUUID { device.failedFiles.insert(file) }
        }
        for file in device.failedFiles.sorted() { try decideFailed(file, device) }
        // Nobody hosts the files of a member who has left.
        for item in state.items.inOrder where item.failure?.code == .storageOwnerMissing {
            if let file = item.fileUUID { try withdraw(file, device) }
        }
        // An app that removed the files of a group, and is a member again, requests the files that the library believes
        // it has.
        for entry in state.directory.inOrder
        where device.leftGroups.contains(entry.sharingGroupUUID) && device.files[entry.fileUUID] == nil
            && !entry.deletedOnServer && state.pendingItems(of: entry.fileUUID).isEmpty
        {
            device.wishes.insert(entry.fileUUID)
        }
        for file in device.wishes.sorted() {
            guard let state = device.engine?.state, let entry = state.directory[file], !entry.deletedLocally,
                entry.fileVersion != nil || !state.pendingItems(of: file).isEmpty
            else {
                device.wishes.remove(file)
                continue
            }
            if device.engine?.state.groups[entry.sharingGroupUUID]?.removedFromGroup != false {
                device.wishes.remove(file)
                continue
            }
            try wish(file, device)
        }
    }
}
