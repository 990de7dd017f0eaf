internal import SyncEngine
internal import SyncProtocol

/// The answers of all apps of a story to conflicts.
struct StoryAnswers {
    /// Nil: the apps postpone their answers.
    var content: ContentDownloadResolution?
    var deletion: DownloadDeletionResolution
}

/// A history written step by step: two people with a device each, and a second device of the first person, in one
/// sharing group. At its end, the same invariants must hold as at the end of any history.
final class Story {
    /// A device of the story.
    enum Who: Int, CaseIterable {
        case anna, ben, annasTablet
    }

    let simulation: Simulation
    private let group: SharingGroupUUID

    /// - Parameters:
    ///   - faultSeed: Determines the faults; nil for none.
    ///   - answers: The apps' answers to conflicts.
    init(faultSeed: UInt64? = nil, answers: StoryAnswers) throws {
        var options = SimulationOptions(seed: faultSeed ?? 0)
        options.devices = Who.allCases.count
        options.hasExtensions = true
        options.hasNetworkFaults = faultSeed != nil
        options.hasProcessDeaths = faultSeed != nil
        options.usesDatabase = faultSeed == nil
        options.hasRestorations = false
        options.hasRefusals = false
        options.hasAccountSwitches = false
        options.hasDownloadsOnDemand = false
        simulation = Simulation(seed: faultSeed ?? 0, options: options, logs: true)
        simulation.answers = answers
        guard let group = SharingGroupUUID(simulation.makeUUID()) else { preconditionFailure("makeUUID makes UUIDs") }
        self.group = group
        simulation.groups = [group]
        simulation.server.addGroup(group, name: "g", admin: UserID(1))
        for who in Who.allCases {
            let user = UserID(who == .ben ? 2 : 1)
            guard let uuid = DeviceUUID(simulation.makeUUID()) else { preconditionFailure("makeUUID makes UUIDs") }
            simulation.server.users.insert(user)
            simulation.server.groups[group]?.members[user] = user == UserID(1) ? .admin : .write
            simulation.devices.append(
                try SimulatedDevice(
                    index: who.rawValue, caller: ModelCaller(user: user, device: uuid),
                    options.usesDatabase ? .memory : .none))
        }
        // All devices know the group before the faults begin.
        simulation.isSettling = true
        for device in simulation.devices { try simulation.launch(device) }
        for device in simulation.devices { try simulation.sync(device, nil) }
        try simulation.runUntilQuiet()
        simulation.isSettling = false
    }

    private func device(_ who: Who) throws -> SimulatedDevice {
        let device = simulation.devices[who.rawValue]
        // A device whose process has died is relaunched, and the new process may die as well.
        for _ in 0..<100 where device.engine == nil { try simulation.launch(device) }
        return device
    }

    /// Repeats an action, as a user would, because the process may have died before completing it.
    private func insist(_ body: () throws -> Bool) throws {
        for _ in 0..<100 { if try body() { return } }
        simulation.violation("a step of the story is not possible")
    }

    // MARK: Steps

    /// Creates a file, which is only queued.
    func make(_ who: Who, in fileGroup: FileGroupUUID? = nil) throws -> FileUUID {
        guard let file = FileUUID(simulation.makeUUID()) else { preconditionFailure("makeUUID makes UUIDs") }
        try insist { try simulation.upload(file, group, fileGroup, try device(who)) }
        return file
    }

    /// Creates a file that all devices have.
    func shared() throws -> FileUUID {
        let file = try make(.anna)
        try share([file])
        return file
    }

    /// Creates two files of one file group, which all devices have.
    func sharedFileGroup() throws -> [FileUUID] {
        guard let fileGroup = FileGroupUUID(simulation.makeUUID()) else { preconditionFailure("makeUUID makes UUIDs") }
        let files = try (1...2).map { _ in try make(.anna, in: fileGroup) }
        try share(files)
        return files
    }

    private func share(_ files: [FileUUID]) throws {
        try insist {
            try syncAll()
            return Who.allCases.allSatisfy { who in files.allSatisfy { contents(who, $0) != nil } }
        }
    }

    func edit(_ who: Who, _ file: FileUUID) throws {
        try insist { try simulation.edit(file, try device(who)) }
    }

    func editText(_ who: Who, _ file: FileUUID) throws {
        try insist { try simulation.editText(file, try device(who)) }
    }

    func delete(_ who: Who, _ files: [FileUUID]) throws {
        try insist {
            let device = try device(who)
            try simulation.delete(files, device)
            return files.allSatisfy { device.files[$0] == nil }
        }
    }

    /// Tries to upload contents under the UUID of a file that was deleted.
    func refusalOfUpload(_ who: Who, _ file: FileUUID) throws -> SyncError.Code? {
        let attributes = SyncAttributes(
            fileUUID: file, sharingGroupUUID: group, mimeType: MIMEType("text/plain"))
        let source = UploadSource(location: LocalFileLocation(base: .documents, path: "x"), isOwned: false)
        let device = try device(who)
        do throws(SyncError) {
            var engine = device.engine
            _ = try engine?.upload(source, attributes, at: simulation.now)
            return nil
        } catch { return error.code }
    }

    func goOffline(_ who: Who) { simulation.offline.insert(who.rawValue) }

    func goOnline(_ who: Who) { simulation.offline.remove(who.rawValue) }

    /// Ends the process; it is relaunched automatically some time later.
    func kill(_ who: Who) throws {
        simulation.kill(try device(who))
        try simulation.runUntilQuiet()
    }

    /// Requests a sync, and runs it to completion.
    func sync(_ who: Who) throws {
        try simulation.sync(try device(who), group)
        try simulation.runUntilQuiet()
    }

    func syncAll() throws { for who in Who.allCases { try sync(who) } }

    /// Makes the server refuse each request for a while, during which all devices try to sync.
    func closeServer(for count: Int) throws {
        simulation.offline = Set(Who.allCases.map(\.rawValue))
        for _ in 0..<count { try syncAll() }
        simulation.offline = []
    }

    func backUpServer() { simulation.backUpServer() }

    /// Restores the server from its last backup, and waits until it is open again.
    func restoreServer() {
        simulation.restoreServer()
        simulation.time = simulation.closedUntil
    }

    /// Changes the apps' answers to the conflicts that follow.
    func answer(_ answers: StoryAnswers) { simulation.answers = answers }

    /// Lets all devices settle, and performs the usual checks.
    /// - Returns: The rules that were broken, as sentences.
    func end() throws -> [String] {
        simulation.offline = []
        try simulation.settle()
        try simulation.check()
        return simulation.report.violations
    }

    // MARK: Results

    /// The contents of a file in a device's app; nil if the app does not have the file.
    func contents(_ who: Who, _ file: FileUUID) -> String? { simulation.devices[who.rawValue].files[file]?.contents }

    func text(_ who: Who, _ file: FileUUID) -> String? { simulation.devices[who.rawValue].files[file]?.text }

    /// The number of files of a device's app.
    func fileCount(_ who: Who) -> Int { simulation.devices[who.rawValue].files.count }

    /// Whether changes wait to be sent.
    func hasPendingUploads(_ who: Who) -> Bool { simulation.devices[who.rawValue].engine?.uploadsPending ?? false }

    /// The number of committed versions of a file, not counting deletions.
    func committedVersions(_ file: FileUUID) -> Int {
        simulation.server.groups[group]?.history[file]?.filter { $0.contents != nil }.count ?? 0
    }

    /// The number of conflicts that apps were asked about.
    var conflicts: Int { simulation.report.conflicts }
}
