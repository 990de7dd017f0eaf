import Gzip
import HTTPTransport
import Logging
public import OpenSSLCrypto
import Providers
public import Store
public import SyncProtocol
import Vault

/// What a process needs to write manifests.
public struct ManifestSettings: Sendable {
    /// Signs the manifests.
    public var key: Ed25519Key
    /// The time from a manifest to the next one of the same group in the same folder, and between two searches for
    /// groups that have changed.
    public var intervalSeconds: Int
    /// The address of the server, as clients know it; `nil` if only the web server knows it.
    public var serverURL: String?
    /// Called after each attempt with its success.
    public var observer: @Sendable (Bool) -> Void
    /// Smaller in tests.
    var maximumFiles = GroupManifest.maximumFiles
    var maximumTextBytes = GroupManifest.maximumTextBytes

    public init(
        key: Ed25519Key, intervalSeconds: Int, serverURL: String?,
        observer: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.key = key
        self.intervalSeconds = intervalSeconds
        self.serverURL = serverURL
        self.observer = observer
    }
}

/// Finds the groups whose manifests are out of date, and schedules new ones. Commits do not do this.
public struct ManifestScan: Sendable {
    /// The number of groups handled in one round: after an upgrade, manifests spread over some time.
    private static let batch = 500

    private let store: MetadataStore
    private let intervalSeconds: Int
    private let now: @Sendable () -> WireDate

    public init(store: MetadataStore, intervalSeconds: Int, now: @escaping @Sendable () -> WireDate) {
        self.store = store
        self.intervalSeconds = intervalSeconds
        self.now = now
    }

    /// How long to wait between two rounds.
    public var interval: Duration { .seconds(intervalSeconds) }

    /// Runs one round; any number of processes may.
    /// - Returns: the number of groups that have changed.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func run() throws -> Int {
        let groups = try store.withSession { try $0.groupsWithoutManifests(limit: Self.batch) }
        for group in groups {
            try store.transaction { try $0.scheduleManifests(of: group, interval: intervalSeconds, at: now()) }
        }
        return groups.count
    }
}

/// Writes the manifest of a group into the folder of an owner.
///
/// A new object is stored under a name that was never used; then one transaction makes it the current manifest, and
/// schedules the deletion of the one before the previous. An interrupted attempt leaves an intent, as uploads do, so the
/// outbox deletes its object.
struct ManifestWork: Sendable {
    private static let otherProcess = CloudStorageError.unavailable(detail: "another process writes the manifest")

    let store: MetadataStore
    let vault: CredentialVault
    let settings: ManifestSettings
    let now: @Sendable () -> WireDate

    /// Stores the current manifest, unless it is already stored, or the owner has no files in the group any more.
    /// - Throws: `CloudStorageError`, `StoreError`.
    func write(_ groupID: SharingGroupID, for owner: OwningUser, in storage: UserStorage, _ logger: Logger) throws {
        do {
            try attempt(groupID, for: owner, in: storage, logger)
        } catch {
            settings.observer(false)
            throw error
        }
    }

    private func attempt(
        _ groupID: SharingGroupID, for owner: OwningUser, in storage: UserStorage, _ logger: Logger
    ) throws {
        let former = try store.withSession { try $0.manifest(of: groupID, in: owner.userID) }
        let text = try store.snapshot { session -> ManifestText? in
            guard let group = try session.manifestGroup(groupID),
                former?.masterVersion != group.masterVersion || former?.owner != owner
            else { return nil }
            return try ManifestText(of: groupID, group, for: owner, settings, vault, at: now(), &session)
        }
        // The next scan removes the manifest of an owner without files, or of a removed group.
        guard let text, text.ownerHasFiles else { return }
        guard !text.isTooLarge else {
            return logger.error(
                "Manifest not written: it would be too large", metadata: .keyed([.count: "\(text.fileCount)"]))
        }
        // The clock has a resolution of one second. With random milliseconds, another attempt in the same second does
        // not use this attempt's name, whose object is about to be deleted.
        let sequence = max((former?.sequence ?? 0) + 1, now().secondsSince1970 * 1_000 + .random(in: 0..<1_000))
        let name = ManifestName(groupUUID: text.groupUUID, sequence: sequence).rawValue
        var reservation = try storage.provider.reserve(name: name, in: storage.access)
        // Readers would not find the manifest under another name.
        reservation.spareName = nil
        let keeper = IntentKeeper(store: store, now: now, makeUUID: { try RandomBytes.uuidText() }, logger: logger)
        let intent: UploadIntent
        do {
            intent = try UploadIntent.commit(toStore: reservation, in: owner, storage, by: keeper)
        } catch is AccountSwitched {
            throw Self.otherProcess
        } catch is Refusal {
            // The owner was removed, or the object's name is about to be deleted.
            throw Self.otherProcess
        }
        do {
            let content = BytesContent(text.bytes, for: owner.storageType)
            let stored = try storage.provider.upload(
                content, as: intent.reservation, mimeType: GroupManifest.mimeType, to: storage.access)
            let manifest = ManifestRecord(
                groupID: groupID, owner: owner, masterVersion: text.masterVersion, sequence: sequence,
                objectID: stored.objectID, previousObjectID: former?.objectID, sizeBytes: Int64(text.bytes.count),
                writtenAt: now())
            let isRecorded = try store.transaction { session in
                guard
                    try session.replace(
                        former, by: manifest, signedWith: settings.key.publicKey, at: now())
                else { return false }
                guard try session.completeIntent(intent.item, at: intent.accountEpoch, by: intent.leaseOwner) else {
                    throw Self.otherProcess
                }
                return true
            }
            guard isRecorded else { throw Self.otherProcess }
        } catch {
            intent.giveUp()
            throw error
        }
        settings.observer(true)
        logger.info("Manifest written", metadata: .keyed([.bytesSent: "\(text.bytes.count)"]))
    }
}

/// The compressed text of a manifest.
struct ManifestText {
    let bytes: [UInt8]
    let groupUUID: SharingGroupUUID
    let masterVersion: MasterVersion
    /// Whether the owner of the folder has any file in the group.
    let ownerHasFiles: Bool
    let fileCount: Int
    /// Whether the manifest would exceed a limit of `GroupManifest`, so that no reader accepts it; the text is incomplete.
    let isTooLarge: Bool

    /// Reads a group and writes its manifest, one block of files at a time. Holds one block, the tables, and the
    /// compressed text.
    init(
        of groupID: SharingGroupID, _ group: ManifestGroup, for owner: OwningUser, _ settings: ManifestSettings,
        _ vault: CredentialVault, at now: WireDate, _ session: inout StoreSession
    ) throws {
        // Of members who have not returned since a rebuild, only the hashes are known.
        let absent = try session.absentIdentities(in: groupID)
        let salt = try absent?.salt ?? RandomBytes.generate(count: 16)
        var writer = ManifestWriter(
            ManifestHeader(
                groupUUID: group.groupUUID, groupName: group.name, createdAt: group.createdAt,
                masterVersion: group.masterVersion, restoreMark: group.restoreMark,
                restoredMasterVersion: group.restoredMasterVersion, writtenAt: now, serverURL: settings.serverURL,
                ownerID: owner.userID, salt: salt, publicKey: settings.key.publicKey))
        for account in try session.manifestAccounts(of: groupID) {
            let isReader = account.userID == owner.userID
            var member = ManifestMember(account, salt: salt, isReader: isReader)
            member.otherGroups =
                isReader
                ? .listed(account.otherGroups)
                : .sealed(try vault.seal(otherGroups: account.otherGroups, of: account.userID, in: group.groupUUID))
            if let identity = absent?.identities[account.userID] { member.identity = identity }
            writer.add(member)
        }
        var stream = GzipStream()
        var digest = StorableDigest(.sha256)
        var textBytes = 0
        func drain(_ writer: inout ManifestWriter) {
            guard !writer.output.isEmpty else { return }
            textBytes += writer.output.count
            digest.update(writer.output)
            stream.append(writer.output.span)
            writer.output.removeAll(keepingCapacity: true)
        }
        var hasFiles = false
        var fileCount = 0
        var isTooLarge = false
        try session.manifestFiles(of: groupID) { file, fileGroup in
            if file.owningUser.userID == owner.userID, !file.isDeleted { hasFiles = true }
            fileCount += 1
            isTooLarge =
                isTooLarge || fileCount > settings.maximumFiles || textBytes > settings.maximumTextBytes
                || stream.output.count > GroupManifest.maximumBytes
            guard !isTooLarge else { return }
            writer.add(ManifestFile(file, fileGroup))
            drain(&writer)
        }
        writer.endFiles()
        drain(&writer)
        let message = GroupManifest.signedMessage(sha256: digest.finish())
        writer.finish(signature: try settings.key.signature(over: message))
        stream.append(writer.output.span)
        stream.finish()
        isTooLarge =
            isTooLarge || textBytes + writer.output.count > settings.maximumTextBytes
            || stream.output.count > GroupManifest.maximumBytes
        bytes = stream.output
        groupUUID = group.groupUUID
        masterVersion = group.masterVersion
        ownerHasFiles = hasFiles
        self.fileCount = fileCount
        self.isTooLarge = isTooLarge
    }
}

extension ManifestMember {
    /// - Parameter isReader: whether the manifest is in the member's own folder: then it names the account.
    init(_ account: ManifestAccount, salt: [UInt8], isReader: Bool) {
        let input = GroupManifest.identityInput(
            salt: salt, accountType: account.accountType, accountID: account.providerUserID)
        self.init(
            userID: account.userID,
            identity: Array(IncrementalDigest.digest(of: input, .sha256).prefix(GroupManifest.identityBytes)),
            account: isReader ? Account(type: account.accountType, id: account.providerUserID) : nil,
            name: account.name, permission: account.permission, isOwning: account.accountType.userType == .owning,
            owningUserID: account.owningUserID, joinedAt: account.joinedAt, userAppID: account.userAppID,
            accountEpoch: account.userAppID.map { _ in account.accountEpoch })
    }
}

extension ManifestFile {
    /// A committed file as a manifest describes it.
    init(_ file: FileRecord, _ fileGroup: FileGroupUUID?) {
        let state: State =
            switch file.contentState {
            case _ where file.isDeleted: .deleted
            case .stored: .stored
            case .awaiting: .awaiting
            case .missing: .missing
            }
        let traits = file.owningUser.storageType.traits
        var checkSum = state == .deleted ? [] : file.checkSum.flatMap { [UInt8](hexadecimal: $0.rawValue) } ?? []
        // Where the storage itself reports the checksum, some bytes of it suffice to recognise the object.
        if state == .stored, traits.reportsCheckSum {
            checkSum = Array(checkSum.prefix(GroupManifest.checkSumPrefixBytes))
        }
        let hash = state == .stored && !traits.reportsCheckSum ? file.providerHash : nil
        self.init(
            fileUUID: file.fileUUID, fileGroupUUID: fileGroup,
            owner: Owner(userID: file.owningUser.userID, storageType: file.owningUser.storageType),
            deviceUUID: file.deviceUUID, fileVersion: file.fileVersion, mimeType: file.mimeType,
            createdAt: file.createdAt, updatedAt: file.updatedAt, sizeBytes: state == .deleted ? nil : file.sizeBytes,
            appMetaData: file.appMetaData.map {
                AppMetaData(version: file.appMetaDataVersion ?? .first, contents: $0)
            },
            state: state, checkSumBytes: checkSum,
            storageHash: hash.map { String($0.prefix(GroupManifest.hashPrefixCharacters)) })
        guard state == .stored else { return }
        // Where the identifier is an address, it shows whether a mark was added to the name.
        let address = file.objectID?.split(separator: "/").last.flatMap { PercentEncoding.decode($0) }
        let isName = address?.hasPrefix(file.fileUUID.rawValue) == true
        let name = isName ? address : file.cloudName.rawValue
        if name != cloudName { objectName = name }
    }
}
