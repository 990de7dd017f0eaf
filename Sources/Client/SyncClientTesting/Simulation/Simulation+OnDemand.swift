internal import SyncEngine
internal import SyncProtocol

// Groups whose files are downloaded on demand: what people do in them, and what must hold.
extension Simulation {
    /// Most devices follow most groups on demand from the beginning.
    func setUpOnDemand() throws {
        isSettling = true
        try runUntilQuiet()
        isSettling = false
        for device in devices {
            for group in groups where !random.once(in: 4) { try setPolicy(.onDemand, of: group, device) }
        }
    }

    /// The app changes the policy of a group, or requests, evicts or edits files that its device only lists.
    func manageContents(_ device: SimulatedDevice) throws {
        guard let engine = device.engine else { return }
        let listed = engine.state.directory.rows { $0.isIndexOnly }
        switch random.below(12) {
        case 0, 1:
            guard let group = random.pick(engine.sharingGroups.map(\.sharingGroupUUID)) else { return }
            try setPolicy(random.once(in: 3) ? .automatic : .onDemand, of: group, device)
        case 2..<6: if let entry = random.pick(listed) { try ask(for: entry.fileUUID, device) }
        case 6, 7:
            guard let file = random.pick(device.files.keys.sorted()) else { return }
            try evict(device) { engine in ([file], try engine.evict(file)) }
        case 8:
            let budget = Int64(random.below(4))
            try evict(device) { engine in
                let (files, actions) = engine.evict(of: nil, keeping: budget)
                return (files, actions)
            }
        case 9:
            guard let entry = random.pick(listed), !hasAllFiles else { return }
            see(entry, device)
            try delete([entry.fileUUID], device)
        case 10:
            // A replacement for contents that the app does not have.
            guard let entry = random.pick(listed), !options.hasRestorations else { return }
            see(entry, device)
            guard try upload(entry.fileUUID, entry.sharingGroupUUID, nil, device) else { return }
            // If the app has just accepted a text, the library has not recorded it yet.
            let taken = device.engine?.state.download(of: entry.fileUUID).flatMap {
                $0.kind == .appMetaData ? $0.appMetaData : nil
            }
            let text = device.files[entry.fileUUID]?.text ?? taken ?? entry.appMetaData?.contents
            device.files[entry.fileUUID]?.text = text
        default:
            guard let file = random.pick(device.files.keys.sorted()), var engine = device.engine else { return }
            guard (try? engine.noteUse(of: file, bytes: nil, at: now)) != nil else { return }
            device.engine = engine
            try perform([], on: device)
        }
    }

    /// The app is shown the version of a file in its attributes.
    func see(_ entry: DirectoryEntry, _ device: SimulatedDevice) {
        if let version = entry.fileVersion { device.seenVersions.insert(.init(file: entry.fileUUID, version: version)) }
    }

    /// Records the listed version of a file as seen if the app acts on it. An app that waits for a file again knows
    /// that its own contents are not a version of the server, for instance because it has withdrawn them; if the
    /// library only lists the file, the app acts on the version in the list. In all other cases, only a delivery or a
    /// conflict shows versions.
    func seeListed(_ file: FileUUID, _ device: SimulatedDevice) {
        guard device.wishes.contains(file), let entry = device.engine?.state.directory[file], entry.isIndexOnly,
            device.engine?.state.pendingItems(of: file).allSatisfy({ $0.kind == .appMetaData }) == true
        else { return }
        see(entry, device)
    }

    private func setPolicy(
        _ policy: DownloadPolicy, of group: SharingGroupUUID, _ device: SimulatedDevice
    ) throws {
        guard var engine = device.engine, (try? engine.setDownloadPolicy(policy, of: group)) != nil else { return }
        device.engine = engine
        log("\(device.index) downloads \(group) \(policy)")
        try perform([], on: device)
    }

    private func ask(for file: FileUUID, _ device: SimulatedDevice) throws {
        let priority = DownloadPriority(rawValue: random.below(3)) ?? .normal
        guard var engine = device.engine,
            !engine.state.pendingItems(of: file).contains(where: { $0.kind == .deletion }),
            (try? engine.requestDownload(of: file, priority: priority)) != nil
        else { return }
        report.requestedFiles += 1
        device.engine = engine
        device.asked.insert(file)
        // A request that the process did not store is repeated.
        device.wishes.insert(file)
        log("\(device.index) requests \(file.rawValue.suffix(4))")
        try perform([], on: device)
    }

    private func evict(
        _ device: SimulatedDevice,
        _ evict: (inout SyncStateMachine) throws -> (files: [FileUUID], actions: [EngineAction])
    ) throws {
        guard var engine = device.engine, let evicted = try? evict(&engine) else { return }
        let before = device.engine?.state.directory
        device.engine = engine
        guard try perform(evicted.actions, on: device) else { return }
        for file in evicted.files {
            log("\(device.index) evicts \(file.rawValue.suffix(4))")
            if before?[file]?.isIndexOnly == false { checkEvicted(file, device) }
            report.evictedFiles += 1
            if options.hasRestorations, let contents = device.files[file]?.contents {
                // A server that is restored later may lose them, and nobody may have them then.
                for author in devices { author.edits[contents]?.isExcused = true }
            }
            device.drop(file)
        }
    }

    // MARK: Invariants

    /// Evicted contents must be on the server, unless it was restored and the device does not know that yet.
    private func checkEvicted(_ file: FileUUID, _ device: SimulatedDevice) {
        // A file that the app requests again is not a version of the server.
        guard let own = device.files[file], let contents = own.contents, let group = server.groups[own.group],
            !device.wishes.contains(file), group.restored == nil, changedInCloud[file]?.contains(contents) != true
        else { return }
        if group.history[file]?.contains(where: { $0.contents == contents }) != true {
            violation("device \(device.index) evicts \(contents) of \(file), which the server does not have")
        }
    }

    /// Contents that nobody asked for must not be downloaded.
    func checkRequest(_ request: ServerRequest, _ device: SimulatedDevice) {
        guard case .downloadFile(let file, _, _, _, let group) = request, !device.mayReceive(file, in: group) else {
            return
        }
        violation("device \(device.index) downloads \(file), which it did not ask for")
    }

    /// At rest, an app knows the current state of all files, and the contents of those that it asked for.
    func checkListed(by device: SimulatedDevice) {
        guard let state = device.engine?.state else { return }
        for (id, group) in server.groups where state.groups[id]?.downloadPolicy == .onDemand {
            guard group.members[device.caller.user] != nil else { continue }
            for (file, known) in group.files where !known.isDeleted {
                guard let row = state.directory[file], row.fileVersion == known.version, row.appMetaData == known.text,
                    !row.deletedOnServer
                else {
                    violation("device \(device.index) knows another state of \(file)")
                    continue
                }
                if row.isIndexOnly, device.asked.contains(file) {
                    violation("device \(device.index) never receives \(file), which it asked for")
                }
                guard row.isIndexOnly == (device.files[file] == nil) else {
                    violation("device \(device.index) has, or does not have, \(file), unlike its library")
                    continue
                }
                let own = device.files[file]?.contents
                if let own, own != known.contents, changedInCloud[file]?.contains(own) != true {
                    violation("device \(device.index) has \(own) in \(file), not \(known.contents)")
                }
            }
        }
    }

    /// Makes all devices download everything.
    func downloadAll() throws {
        for device in devices {
            checkListed(by: device)
            for group in device.engine?.state.groups.inOrder ?? [] {
                try setPolicy(.automatic, of: group.sharingGroupUUID, device)
            }
        }
    }
}
