import SyncModel

/// Requests about files.
extension RequestPlanner {
    func upload(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .write) else { return nil }
        var upload = upload(to: group, by: caller, &random)
        upload.batch = batch(group, caller, &random)
        if random.chance(3), case .uploadFile(let again)? = committedMember(group, caller, &random) { upload = again }
        return (.uploadFile(upload), caller)
    }

    /// An upload without a batch, sometimes with a mistake.
    func upload(to group: String, by caller: Caller, _ random: inout SeededGenerator) -> Request.Upload {
        let live = world.groups[group]?.files.values.count { !$0.isDeleted } ?? 0
        var upload: Request.Upload
        if random.chance(10), let again = repetition(group, caller, &random) {
            upload = again
        } else if random.chance(live < Self.wantedFiles ? 45 : 5) {
            upload = newFile(group, caller, &random)
        } else {
            upload = nextVersion(of: anyFile(group, &random), group, caller, &random)
        }
        if random.chance(12) { spoil(&upload, &random) }
        return upload
    }

    private func newFile(_ group: String, _ caller: Caller, _ random: inout SeededGenerator) -> Request.Upload {
        let content = newContent(&random)
        let member = world.groups[group]?.members[caller.person]
        let storage = world.account(of: caller.person).provider.storage ?? member?.owner.flatMap(world.storage)
        // Rarely the same new file that another device is about to commit.
        let staged = (world.groups[group]?.staged.values.flatMap(\.keys) ?? []).sorted()
        let file = random.chance(5) ? random.pick(staged) : nil
        return Request.Upload(
            file ?? random.uuid(), in: selection(group, &random), version: 0,
            mimeType: random.pick(World.mimeTypes) ?? "text/plain", content: content,
            checkSum: content.checkSums[storage ?? "Google"] ?? "", fileGroup: random.chance(30) ? random.uuid() : nil,
            metadata: random.chance(50) ? Metadata(0, text(&random)) : nil)
    }

    private func nextVersion(
        of file: String, _ group: String, _ caller: Caller, _ random: inout SeededGenerator
    ) -> Request.Upload {
        let content = newContent(&random)
        let current = world.groups[group]?.files[file]
        let storage = current.flatMap { world.storage(of: $0.owner) }
        return Request.Upload(
            file, in: selection(group, &random), version: (current?.version ?? 0) + 1,
            mimeType: current?.mimeType ?? "text/plain", content: content,
            checkSum: content.checkSums[storage ?? "Google"] ?? "",
            metadata: random.chance(30) ? Metadata(current?.nextMetadataVersion ?? 0, text(&random)) : nil,
            undeletes: current?.isDeleted == true && random.chance(80))
    }

    /// Repeats an upload that this device has staged, as after a lost reply; sometimes with different bytes.
    private func repetition(
        _ group: String, _ caller: Caller, _ random: inout SeededGenerator
    ) -> Request.Upload? {
        let staged = world.groups[group]?.staged[caller] ?? [:]
        guard let file = random.pick(staged.filter { $0.value.upload != nil }.keys.sorted()),
            let change = staged[file], let uploaded = change.upload
        else { return nil }
        let content = random.chance(70) ? uploaded.content : newContent(&random)
        return Request.Upload(
            file, in: selection(group, &random), version: change.version ?? 0, mimeType: uploaded.mimeType,
            content: content, checkSum: content.checkSums[uploaded.owner.flatMap(world.storage) ?? "Google"] ?? "",
            fileGroup: uploaded.fileGroup, metadata: random.chance(70) ? change.metadata : nil,
            undeletes: change.kind == .undelete)
    }

    /// Introduces one mistake.
    private func spoil(_ upload: inout Request.Upload, _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: upload.version = max(0, upload.version + (random.chance(50) ? 1 : -1))
        case 1: upload.mimeType = random.pick(World.mimeTypes + ["text/html", "unknown"]) ?? "unknown"
        case 2: upload.checkSum = String(upload.checkSum.reversed())
        case 3: upload.undeletes.toggle()
        case 4: upload.metadata = Metadata(Int.random(in: 0...3, using: &random), text(&random))
        case 5: upload.checkSum = random.pick(upload.content.checkSums.values.sorted()) ?? ""
        case 6: upload.file = anyFile(upload.group.group, &random)
        default: upload.checkSum = upload.checkSum.uppercased()
        }
        if upload.version != 0 { upload.fileGroup = nil }
    }

    func changeMetadata(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .write) else { return nil }
        let file = anyFile(group, &random)
        var version = world.groups[group]?.files[file]?.nextMetadataVersion ?? 0
        if random.chance(8) { version = max(0, version + (random.chance(50) ? 1 : -1)) }
        return (
            .uploadAppMetaData(
                Request.FileSelection(file, in: selection(group, &random)), Metadata(version, text(&random)),
                batch: batch(group, caller, &random)), caller
        )
    }

    func deleteFile(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .write) else { return nil }
        let file = anyFile(group, &random)
        var version = world.groups[group]?.files[file]?.version ?? 0
        if random.chance(8) { version += 1 }
        return (
            .uploadDeletion(
                Request.FileSelection(file, in: selection(group, &random)), version: version,
                batch: batch(group, caller, &random)), caller
        )
    }

    func download(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .read) else { return nil }
        let file = anyFile(group, &random)
        let current = world.groups[group]?.files[file]
        var version = current?.version ?? 0
        if random.chance(6) { version += 1 }
        var metadataVersion = current?.metadata?.version
        if random.chance(6) { metadataVersion = random.chance(50) ? nil : (metadataVersion ?? 0) + 1 }
        return (
            .downloadFile(
                Request.FileSelection(file, in: selection(group, &random)), version: version,
                metadataVersion: metadataVersion), caller
        )
    }

    func downloadMetadata(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        guard let (group, caller) = place(&random, needing: .read) else { return nil }
        let file = anyFile(group, &random)
        var version = world.groups[group]?.files[file]?.metadata?.version ?? 0
        if random.chance(8) { version += 1 }
        return (
            .downloadAppMetaData(
                Request.FileSelection(file, in: selection(group, &random)), metadataVersion: version), caller
        )
    }

    func commit(_ random: inout SeededGenerator) -> (request: Request, caller: Caller)? {
        var areas: [(group: String, caller: Caller)] = []
        for (uuid, group) in world.groups.sorted(by: { $0.key < $1.key }) {
            for caller in cast.callers where group.staged[caller]?.isEmpty == false { areas.append((uuid, caller)) }
        }
        let chosen = random.chance(85) ? random.pick(areas) : place(&random, needing: .write)
        guard let (group, caller) = chosen else { return nil }
        let named = world.groups[group]?.commits[caller] ?? [:]
        if random.chance(5), let id = random.pick(named.keys.sorted()) {
            // Usually repeats the same commit, as after a lost reply; rarely uses its id for a different one.
            if random.chance(80), let again = named[id]?.request { return (again, caller) }
            return (.doneUploads(selection(group, &random), newName: nil, message: nil, commitID: id), caller)
        }
        return (
            .doneUploads(
                selection(group, &random), newName: random.chance(8) ? text(&random) : nil,
                message: random.chance(10) ? text(&random) : nil, commitID: random.chance(40) ? random.uuid() : nil),
            caller
        )
    }
}
