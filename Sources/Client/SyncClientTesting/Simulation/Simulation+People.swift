internal import SyncEngine
internal import SyncProtocol

// People's actions, on the devices and outside of them.
extension Simulation {
    /// The beginning of contents that are larger than the server accepts, that the storage considers malware, and that
    /// need a lot of room.
    private static let (largeContents, harmfulContents, bigContents) = ("L", "M", "B")

    /// The refusal of such contents; nil accepts them.
    static func refusal(of contents: String) -> ErrorCode? {
        switch contents.prefix(1) {
        case largeContents: .bodyTooLarge
        case harmfulContents: .cloudRefused
        default: nil
        }
    }

    func step() throws {
        if options.hasAccountSwitches, random.once(in: 4) { try moveFiles() }
        if options.hasRestorations, random.once(in: 12) {
            if backup == nil || random.once(in: 3) { backUpServer() } else { restoreServer() }
        }
        guard let device = random.pick(devices.filter { $0.engine != nil }) else { return }
        if options.hasAccountSwitches, random.once(in: 4) {
            try manageAccount(device)
            return
        }
        if options.hasDownloadsOnDemand, random.once(in: 4) {
            try manageContents(device)
            return
        }
        // A switch without files ends too soon.
        if options.hasAccountSwitches, device.files.isEmpty {
            try addFile(device)
            return
        }
        switch random.below(100) {
        case 0..<14: try addFile(device)
        case 14..<34: if let file = anyFile(of: device) { try edit(file, device) }
        case 34..<40: if let file = anyFile(of: device) { try editText(file, device) }
        case 40..<48:
            guard let file = anyFile(of: device) else { return }
            // No one would create another one.
            if hasAllFiles {
                try editText(file, device)
            } else {
                try delete(random.once(in: 2) ? fileGroup(of: file, device) : [file], device)
            }
        case 48..<74: try syncOpenQueue(device)
        case 74..<80: try syncAny(device)
        case 80..<82: try sync(device, nil)
        case 82..<84: stop(device)
        case 84..<86: if options.hasDepartures { try manageGroups(device) }
        case 86..<88: if options.hasProcessDeaths { kill(device) }
        case 88..<90: if let file = anyFile(of: device) { try wish(file, device) }
        case 90..<92: if let file = random.pick(device.failedFiles.sorted()) { try decideFailed(file, device) }
        case 92 where options.hasWithdrawals: if let file = anyFile(of: device) { try withdraw(file, device) }
        default: meddle()
        }
    }

    private func anyFile(of device: SimulatedDevice) -> FileUUID? {
        random.pick(device.files.keys.sorted())
    }

    /// A file, and the other files of its file group that a device's app has.
    private func fileGroup(of file: FileUUID, _ device: SimulatedDevice) -> [FileUUID] {
        guard let fileGroup = device.files[file]?.fileGroup else { return [file] }
        return device.files.filter { $0.value.fileGroup == fileGroup }.keys.sorted()
    }

    private func anyGroup(of device: SimulatedDevice) -> SharingGroupUUID? {
        guard let engine = device.engine else { return nil }
        // Mostly a group with queued changes, so that queues have several.
        if !random.once(in: 3), let open = random.pick(engine.state.openGroups) { return open }
        return random.pick(engine.sharingGroups.map(\.sharingGroupUUID))
    }

    // MARK: On a device

    var hasAllFiles: Bool { options.maximumFiles.map { madeFiles >= $0 } ?? false }

    private func addFile(_ device: SimulatedDevice) throws {
        guard !hasAllFiles else {
            if let file = anyFile(of: device) { try edit(file, device) }
            return
        }
        madeFiles += 1
        guard let group = anyGroup(of: device), let file = FileUUID(makeUUID()) else { return }
        var fileGroup: FileGroupUUID?
        if random.once(in: 2) {
            let known = device.files.values.filter { $0.group == group }.compactMap(\.fileGroup).sorted()
            fileGroup = random.once(in: 3) ? FileGroupUUID(makeUUID()) : random.pick(known)
        }
        try upload(file, group, fileGroup, device)
    }

    /// Changes a file's contents, and sometimes its text; false if that is not possible now.
    @discardableResult
    func edit(_ file: FileUUID, _ device: SimulatedDevice) throws -> Bool {
        guard let known = device.files[file] else { return false }
        seeListed(file, device)
        return try upload(file, known.group, nil, device)
    }

    @discardableResult
    func upload(
        _ file: FileUUID, _ group: SharingGroupUUID, _ fileGroup: FileGroupUUID?, _ device: SimulatedDevice
    ) throws -> Bool {
        guard var engine = device.engine else { return false }
        numbers += 1
        var kind = "c"
        if options.hasRefusals {
            switch random.below(36) {
            case 0..<3: kind = Self.largeContents
            case 3: kind = Self.harmfulContents
            case 4..<12: kind = Self.bigContents
            default: break
            }
        }
        let contents = "\(kind)\(device.index).\(numbers)"
        let isOwned = random.once(in: 2)
        let location = device.makeLocation(isOwned ? .library : .documents, contents)
        var attributes = SyncAttributes(
            fileUUID: file, sharingGroupUUID: group, mimeType: MIMEType("text/plain"), fileGroupUUID: fileGroup)
        let replaced = device.openItem(of: file)
        let aside = engine.changesSetAside(of: file)
        // A queued text that is replaced must be specified again. Texts have no date that shows, after a restoration,
        // which of two is newer.
        let text =
            random.once(in: 4) && !options.hasRestorations
            ? "t\(device.index).\(numbers)" : replaced?.appMetaData ?? aside.compactMap(\.appMetaData).last
        attributes.appMetaData = text
        guard
            let actions = try? engine.upload(
                UploadSource(location: location, isOwned: isOwned, size: kind == Self.bigContents ? 9 : 1),
                attributes, at: now)
        else {
            device.storage[location] = nil
            return false
        }
        device.engine = engine
        let before = (device.edits, device.textEdits)
        if let replaced { device.excuse(replaced) }
        for item in aside { device.excuse(item) }
        device.supersede(file, contents: contents, text: text)
        if options.hasRestorations, let known = device.files[file]?.contents, known != contents {
            // A restored server may have lost these contents; their successor suffices.
            device.edits[known]?.successor = contents
        }
        device.failedFiles.remove(file)
        let process = device.process
        guard try perform(actions, on: device) else {
            (device.edits, device.textEdits) = before
            return false
        }
        log("\(device.index) edits \(file.rawValue.suffix(4)): \(contents) \(text ?? "")")
        device.edits[contents] = .init(file: file, group: group)
        if let text { device.textEdits[text] = .init(file: file, group: group) }
        let known = device.files[file]
        device.files[file] = SimulatedDevice.AppFile(
            group: group, fileGroup: known?.fileGroup ?? fileGroup, contents: contents, text: text ?? known?.text)
        return process == device.process
    }

    @discardableResult
    func editText(_ file: FileUUID, _ device: SimulatedDevice) throws -> Bool {
        guard !options.hasRestorations, var engine = device.engine, let known = device.files[file] else { return false }
        numbers += 1
        let text = "t\(device.index).\(numbers)"
        var attributes = SyncAttributes(
            fileUUID: file, sharingGroupUUID: known.group, mimeType: MIMEType("text/plain"))
        attributes.appMetaData = text
        let replaced = device.openItem(of: file)
        guard let actions = try? engine.uploadAppMetaData(attributes, at: now) else { return false }
        device.engine = engine
        let before = (device.edits, device.textEdits)
        if let replaced { device.excuse(replaced) }
        device.supersede(file, contents: nil, text: text)
        // Queued contents that only a text replaces exist only in this app.
        if replaced?.kind == .file { device.wishes.insert(file) }
        guard try perform(actions, on: device) else {
            (device.edits, device.textEdits) = before
            return false
        }
        log("\(device.index) edits the text of \(file.rawValue.suffix(4)): \(text)")
        device.textEdits[text] = .init(file: file, group: known.group)
        device.files[file]?.text = text
        return true
    }

    /// Retries changes that failed permanently, or abandons them.
    func decideFailed(_ file: FileUUID, _ device: SimulatedDevice) throws {
        guard var engine = device.engine else { return }
        device.failedFiles.remove(file)
        let aside = engine.changesSetAside(of: file)
        guard let entry = engine.state.directory[file], !aside.isEmpty else { return }
        let group = entry.sharingGroupUUID
        if random.once(in: 2), let actions = try? engine.retryUpload(of: file, at: now, source: { _ in nil }) {
            let newest = (aside + (device.engine?.state.pendingItems(of: file) ?? [])).filter(\.isContent)
            device.engine = engine
            let pending = engine.state.pendingItems(of: file)
            // Only the newest contents and texts count.
            let texts = newest.compactMap(\.appMetaData)
            for text in texts.dropLast() where text != texts.last { device.textEdits[text]?.isExcused = true }
            for item in newest.filter({ $0.kind == .file }).dropLast() {
                if let contents = item.source.flatMap({ device.storage[$0] }) {
                    device.edits[contents]?.isExcused = true
                }
            }
            guard try perform(actions, on: device) else { return }
            log("\(device.index) retries \(file.rawValue.suffix(4))")
            let known = device.files[file]
            device.files[file] = SimulatedDevice.AppFile(
                group: group, fileGroup: known?.fileGroup ?? entry.fileGroupUUID,
                contents: pending.compactMap { $0.source.flatMap { device.storage[$0] } }.last ?? known?.contents,
                text: pending.compactMap(\.appMetaData).last ?? known?.text)
            return
        }
        guard let actions = try? engine.discardUpload(of: file) else { return }
        device.engine = engine
        let pending = engine.state.pendingItems(of: file)
        device.excuseAll(of: file, except: pending)
        guard try perform(actions, on: device) else { return }
        log("\(device.index) gives up \(file.rawValue.suffix(4))")
        if engine.state.directory[file] == nil {
            // If others upload it again, it is a new file.
            device.drop(file)
        } else if !pending.contains(where: { $0.kind == .deletion }) {
            if !pending.contains(where: { $0.kind == .file }) { device.wishes.insert(file) }
            device.files[file]?.text = pending.compactMap(\.appMetaData).last ?? entry.appMetaData?.contents
        }
    }

    /// Withdraws the pending changes to a file, and requests the server's contents.
    func withdraw(_ file: FileUUID, _ device: SimulatedDevice) throws {
        guard var engine = device.engine else { return }
        let before = engine.state
        guard let actions = try? engine.withdraw(file) else { return }
        report.withdrawals += 1
        device.engine = engine
        device.excuseAll(of: file)
        device.failedFiles.remove(file)
        if let group = before.directory[file]?.sharingGroupUUID {
            // If the batch was complete, its other changes are sent once more.
            device.excuseRepetitions(in: group)
        }
        guard try perform(actions, on: device) else { return }
        log("\(device.index) withdraws \(file.rawValue.suffix(4))")
        if let entry = engine.state.directory[file] {
            device.files[file]?.text = entry.appMetaData?.contents
            // After a withdrawn deletion, the app no longer has the file.
            if entry.deletedLocally { device.files[file] = nil } else { device.wishes.insert(file) }
        } else {
            // If others upload it again, it is a new file.
            device.drop(file)
        }
    }

    func delete(_ files: [FileUUID], _ device: SimulatedDevice) throws {
        guard var engine = device.engine else { return }
        guard let actions = try? engine.delete(files, at: now) else { return }
        for file in files { seeListed(file, device) }
        device.engine = engine
        for file in files { device.excuseAll(of: file) }
        guard try perform(actions, on: device) else { return }
        for file in files {
            log("\(device.index) deletes \(file.rawValue.suffix(4))")
            device.drop(file)
        }
    }

    func syncOpenQueue(_ device: SimulatedDevice) throws {
        guard let group = anyGroup(of: device) else { return }
        try sync(device, group)
    }

    private func syncAny(_ device: SimulatedDevice) throws {
        guard let group = random.pick(device.engine?.sharingGroups.map(\.sharingGroupUUID) ?? []) else { return }
        try sync(device, group, reAttemptGone: random.once(in: 3))
    }

    private func stop(_ device: SimulatedDevice) {
        guard var engine = device.engine else { return }
        let actions = engine.stop()
        device.engine = engine
        device.endedEarly = true
        do { try perform(actions, on: device) } catch { violation("the store failed: \(error)") }
    }

    private func manageGroups(_ device: SimulatedDevice) throws {
        guard var engine = device.engine else { return }
        var actions: [EngineAction]?
        switch random.below(6) {
        case 0:
            guard groups.count < 5, let group = SharingGroupUUID(makeUUID()) else { return }
            actions = try? engine.createSharingGroup(group, name: "n\(numbers)", at: now)
            if actions != nil { groups.append(group) }
        case 1:
            guard random.once(in: 3), let group = anyGroup(of: device) else { return }
            actions = try? engine.removeFromSharingGroup(group, at: now)
            if actions != nil { device.excuseAll(in: group) }
        default:
            guard let group = anyGroup(of: device) else { return }
            actions = try? engine.updateSharingGroup(group, newName: "n\(numbers)", at: now)
        }
        guard let actions else { return }
        device.engine = engine
        try perform(actions, on: device)
    }

    // MARK: Outside the devices

    private func meddle() {
        guard let id = random.pick(groups), let group = server.groups[id] else { return }
        let live = group.files.filter { !$0.value.isDeleted }.keys.sorted()
        switch random.below(20) {
        case 0..<5:
            guard let file = random.pick(live) else { return }
            numbers += 1
            let bytes = "b\(numbers)"
            server.groups[id]?.files[file]?.bytesInCloud = bytes
            changedInCloud[file, default: []].insert(bytes)
        case 5..<9: if let file = random.pick(live) { server.missingFiles.insert(file) }
        case 9, 10: if let file = random.pick(server.missingFiles.sorted()) { server.missingFiles.remove(file) }
        case 11, 12: if let user = random.pick(server.users.sorted()) { server.revokedUsers.insert(user) }
        case 13:
            server.revokedUsers = []
            server.room = [:]
        case 14: if let user = random.pick(server.users.sorted()) { server.room[user] = 1 }
        case 15:
            // Another member removes a member, or adds one again.
            guard options.hasDepartures, let user = random.pick(server.users.sorted()) else { return }
            if var changed = server.groups[id], changed.members[user] != nil {
                guard changed.members.count > 1 else { return }
                server.remove(user, from: &changed)
                server.groups[id] = changed
                log("server: user \(user) was removed from \(id)")
            } else {
                server.add(user, to: id, .write)
                log("server: user \(user) was added to \(id)")
            }
        case 16:
            guard options.hasDepartures, server.users.count > 2, random.once(in: 4), let user = server.users.max()
            else { return }
            server.remove(user)
            for device in devices where device.caller.user == user {
                device.engine = nil
                device.process += 1
                device.isRetired = true
            }
            log("server: user \(user) is gone")
        case 17:
            // Lost files that only a reader has are not restored.
            guard !options.hasRestorations, let user = random.pick(group.members.keys.sorted()) else { return }
            server.groups[id]?.members[user] = random.once(in: 3) ? .read : .write
            server.raiseMasterVersion(of: id)
            for device in devices where device.caller.user == user { device.excuseRepetitions(in: id) }
        default:
            // An empty commit by another client: every device's master version becomes stale.
            server.raiseMasterVersion(of: id)
        }
    }
}
