import FoundationEssentials
import HTTPTransport
import Logging
import OpenSSLCrypto
import Posix
import Providers
import Store
import SyncProtocol
import Vault

/// The page in an owner's folder that shows the folder's contents in a browser, without the app: groups, dates,
/// pictures, texts.
///
/// Its bytes depend only on the listed files, so an unchanged page is not stored again. It has no script, loads only
/// the files in the same folder, and refers to them by their names, so it works wherever the folder is copied.
struct IndexPage {
    static let name = IndexPageRecord.objectName
    static let mimeType = "text/html"
    /// The maximum number of files listed, the newest ones; such a page has about a megabyte.
    static let maximumFiles = 2_000

    /// Pictures fill a grid, and texts a part of it; a phone shows two columns, paper neither frames nor colours.
    private static let style: StaticString = """
        :root { color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif; }
        body { margin: 0 auto; padding: 1rem; max-width: 70rem; }
        h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; overflow-wrap: anywhere; }
        ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .75rem; margin: 0; padding: 0; }
        li { list-style: none; min-width: 0; border: 1px solid #8885; border-radius: .4rem; padding: .4rem; }
        figure, p { margin: 0; } header p { margin-top: .5rem; }
        img { display: block; width: 100%; height: 9rem; object-fit: cover; border-radius: .25rem; background: #8883; }
        iframe { display: block; box-sizing: border-box; width: 100%; height: 9rem; border: 0; background: #fff; color-scheme: light; }
        figcaption { font-size: .8rem; margin-top: .3rem; overflow-wrap: anywhere; } time { white-space: nowrap; }
        @media print { ul { display: block; } li { break-inside: avoid; margin-bottom: .5rem; } img { height: auto; max-height: 20cm; object-fit: contain; } }
        """

    /// The beginning of every index page, regardless of contents and style; other pages begin differently.
    static let beginning: [UInt8] = {
        let empty = String(decoding: IndexPage([], total: 0).bytes(), as: UTF8.self)
        return Array(empty.split(separator: "sha256-", maxSplits: 1)[0].utf8)
    }()

    private let files: [ListedFile]
    private let total: Int

    /// - Parameters:
    ///   - files: at most ``maximumFiles``, the newest first.
    ///   - total: the number of all files.
    init(_ files: [ListedFile], total: Int) {
        self.files = files
        self.total = total
    }

    /// The page in UTF-8.
    func bytes() -> [UInt8] {
        let digest = IncrementalDigest.digest(of: Array(Self.style.description.utf8), .sha256)
        let hash = Data(digest).base64EncodedString()
        let policy =
            "default-src 'none'; img-src 'self' file:; frame-src 'self' file:; style-src 'sha256-\(hash)'; "
            + "base-uri 'none'; form-action 'none'"
        var page: HTMLText = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="
            """
        page += "\(policy)"
        page += """
            ">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>What is in this folder</title>
            <style>
            """
        page.append(style: Self.style)
        page += """
            </style>
            </head>
            <body>
            <header>
            <h1>What is in this folder</h1>
            <p>The files that an app keeps here for its users, as they were when this page was last written. The page works \
            without the app, and without a network if the folder is on this device. Times are in UTC.</p>

            """
        if total > files.count {
            page +=
                "<p>It shows the \(files.count) newest of \(total) files; the folder also contains the others.</p>\n"
        }
        if files.isEmpty { page += "<p>There are no files at the moment.</p>\n" }
        page += "</header>\n<main>\n"
        for group in groups { page += section(group) }
        page += "</main>\n</body>\n</html>\n"
        return Array(page.markup.utf8)
    }

    /// The files of each group, the group with the newest file first.
    private var groups: [[ListedFile]] {
        var order: [SharingGroupUUID] = []
        var members: [SharingGroupUUID: [ListedFile]] = [:]
        for file in files {
            if members[file.groupUUID] == nil { order.append(file.groupUUID) }
            members[file.groupUUID, default: []].append(file)
        }
        return order.compactMap { members[$0] }
    }

    private func section(_ files: [ListedFile]) -> HTMLText {
        let name = files.first?.groupName ?? ""
        var section: HTMLText =
            "<section>\n<h2><bdi>\(name.isEmpty ? "A group without a name" : name)</bdi></h2>\n<ul>\n"
        for file in files { section += item(file.file) }
        section += "</ul>\n</section>\n"
        return section
    }

    private func item(_ file: FileRecord) -> HTMLText {
        let name = file.cloudName.rawValue
        let created = file.createdAt.description
        var item: HTMLText = "<li><figure>"
        if file.mimeType.rawValue.hasPrefix("image/") {
            item += "<a href=\"\(name)\"><img loading=\"lazy\" src=\"\(name)\" alt=\"Picture from \(created)\"></a>"
        } else if file.mimeType.rawValue == "text/plain" {
            item += "<iframe sandbox loading=\"lazy\" src=\"\(name)\" title=\"Text from \(created)\"></iframe>"
        }
        item += "<figcaption><a href=\"\(name)\">\(Self.word(for: file.mimeType))</a> from \(Self.time(file.createdAt))"
        if file.updatedAt != file.createdAt { item += ", changed \(Self.time(file.updatedAt))" }
        if let size = file.sizeBytes { item += ", \(Self.size(size))" }
        item += "</figcaption></figure></li>\n"
        return item
    }

    private static func word(for type: MIMEType) -> String {
        switch type.rawValue {
        case let text where text.hasPrefix("image/"): "Picture"
        case "text/plain": "Text"
        case "application/x-url": "Link"
        default: "File (\(type.rawValue))"
        }
    }

    private static func time(_ date: WireDate) -> HTMLText {
        let (day, clock) = (String(date.description.prefix(10)), String(date.description.suffix(8)))
        return "<time datetime=\"\(day)T\(clock)Z\">\(day) \(String(clock.prefix(5)))</time>"
    }

    private static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1_000: "\(bytes) bytes"
        case ..<1_000_000: "\(bytes / 1_000) kB"
        default: "\(bytes / 1_000_000) MB"
        }
    }
}

/// Keeps the page that lists an owner's files in their folder.
///
/// The intended page is recorded before its first byte is sent, so that an interrupted attempt is recognised and there
/// is never a second page. If names may repeat, the new page is stored before the old one is deleted; if they are
/// unique, only afterwards.
struct IndexPageWork: Sendable {
    /// How long other processes leave the page alone; far longer than one piece of work may take.
    private static let leaseSeconds = 300
    /// The time limit for reading a page; less than the lease.
    private static let readingTime: Duration = .seconds(120)
    /// More bytes than any page has.
    private static let longestPageBytes: Int64 = 16 << 20
    private static let otherProcess = CloudStorageError.unavailable(detail: "another process writes the page")

    let store: MetadataStore
    let leaseOwner: String
    let now: @Sendable () -> WireDate

    /// Stores the current page, unless it is already stored.
    /// - Throws: `CloudStorageError`, `StoreError`.
    func write(for owner: OwningUser, in storage: UserStorage, _ logger: Logger) throws {
        guard try store.withSession({ try $0.user(owner.userID) }) != nil else { return }
        let isOurs = try store.transaction { session in
            try session.takeIndexPage(of: owner.userID, by: leaseOwner, seconds: Self.leaseSeconds)
        }
        guard isOurs else { throw Self.otherProcess }
        // If this fails, the lease expires.
        defer { _ = try? store.transaction { try $0.releaseIndexPage(of: owner.userID, by: leaseOwner) } }
        var page = try store.withSession { try $0.indexPage(of: owner.userID) } ?? IndexPageRecord()
        if let next = page.next { try settle(next, &page, owner, storage) }

        let (files, total) = try store.snapshot { session in
            try session.listedFiles(of: owner.userID, limit: IndexPage.maximumFiles)
        }
        let bytes = IndexPage(files, total: total).bytes()
        let hash = IncrementalDigest.digest(of: bytes, .sha256)
        if page.objectID != nil, page.contentHash == hash { return }
        try replace(&page, by: bytes, hash, owner, storage, logger)
    }

    private func replace(
        _ page: inout IndexPageRecord, by bytes: [UInt8], _ hash: [UInt8], _ owner: OwningUser, _ storage: UserStorage,
        _ logger: Logger
    ) throws {
        let former = try formerPage(page, storage)
        if let found = try storage.provider.find(name: IndexPage.name, in: storage.access), found.objectID != former,
            try !store.withSession({ try $0.isDoomed(found.objectID, of: owner) })
        {
            return logger.info("Page not written: the owner has a file with its name")
        }
        var reservation = try storage.provider.reserve(name: IndexPage.name, in: storage.access)
        let areNamesUnique = reservation.spareName != nil
        // Nobody would look for the page under another name.
        reservation.spareName = nil
        let content = BytesContent(bytes, for: storage.provider.storageType)
        page.next = IndexPageRecord.Intent(
            objectID: reservation.objectID, contentHash: hash, providerHash: content.providerHash)
        try keep(page, owner)
        if areNamesUnique, let former { try storage.provider.delete(objectID: former, in: storage.access) }
        let stored = try storage.provider.upload(
            content, as: reservation, mimeType: IndexPage.mimeType, to: storage.access)
        guard try !finish(&page, stored.objectID, former: areNamesUnique ? nil : former, owner) else { return }
        // If the owner was removed, so were all records of the object; otherwise another process finds it.
        guard try store.withSession({ try $0.user(owner.userID) }) == nil else { throw Self.otherProcess }
        try storage.provider.delete(objectID: stored.objectID, in: storage.access)
    }

    /// The object of the page to be replaced; `nil` if the person has deleted, renamed or changed it: where the
    /// identifier is the name, their own file may have taken its place.
    private func formerPage(_ page: IndexPageRecord, _ storage: UserStorage) throws -> String? {
        guard let objectID = page.objectID else { return nil }
        do throws(CloudStorageError) {
            let present = try storage.provider.describe(objectID: objectID, in: storage.access)
            guard present.name == IndexPage.name else { return nil }
            return try hash(of: present, storage) == page.contentHash ? objectID : nil
        } catch {
            guard case .notFound = error else { throw error }
            return nil
        }
    }

    /// SHA-256 of an object's bytes; `nil` if it is larger than any page.
    /// - Throws: ``CloudStorageError``; ``CloudStorageError/contentMismatch`` if the bytes do not match the
    ///   description.
    private func hash(of object: StoredObject, _ storage: UserStorage) throws(CloudStorageError) -> [UInt8]? {
        guard object.sizeBytes <= Self.longestPageBytes else { return nil }
        let deadline = Deadline.after(Self.readingTime)
        var readBytes: Int64 = 0
        var digest = IncrementalDigest(.sha256)
        do throws(CloudStorageError) {
            try storage.provider.download(
                objectID: object.objectID, from: storage.access, begin: { _ in },
                receive: { bytes in
                    digest.update(bytes)
                    readBytes += Int64(bytes.count)
                    return readBytes <= object.sizeBytes && !deadline.hasPassed
                })
        } catch .downloadCancelled {
            throw readBytes > object.sizeBytes ? .contentMismatch : .timedOut
        }
        // Another file may have replaced the object; the next attempt may read the right one.
        guard readBytes == object.sizeBytes else { throw .contentMismatch }
        return digest.finish()
    }

    /// Determines whether an interrupted attempt has stored its page.
    private func settle(
        _ next: IndexPageRecord.Intent, _ page: inout IndexPageRecord, _ owner: OwningUser, _ storage: UserStorage
    ) throws {
        let found: StoredObject?
        if let objectID = next.objectID {
            do throws(CloudStorageError) {
                found = try storage.provider.describe(objectID: objectID, in: storage.access)
            } catch {
                guard case .notFound = error else { throw error }
                found = nil
            }
        } else {
            let named = try storage.provider.find(name: IndexPage.name, in: storage.access)
            found = try named.flatMap { try isPage(next, $0, storage) ? $0 : nil }
        }
        guard let found else {
            page.next = nil
            return
        }
        let former = next.objectID == nil ? nil : try formerPage(page, storage)
        guard try finish(&page, found.objectID, former: former, owner) else { throw Self.otherProcess }
    }

    /// Whether an object is the intended page; where the identifier is the name, the former page has the same
    /// identifier.
    private func isPage(
        _ next: IndexPageRecord.Intent, _ object: StoredObject, _ storage: UserStorage
    ) throws(CloudStorageError) -> Bool {
        if let hash = object.providerHash { return hash == next.providerHash }
        return try hash(of: object, storage) == next.contentHash
    }

    /// Records the intended page as the current one.
    /// - Parameter former: an object to delete.
    /// - Returns: `false`, with nothing recorded, if the owner was removed or another process is writing the page.
    private func finish(
        _ page: inout IndexPageRecord, _ objectID: String, former: String?, _ owner: OwningUser
    ) throws -> Bool {
        let finished = IndexPageRecord(objectID: objectID, contentHash: page.next?.contentHash)
        let isRecorded = try store.transaction { session in
            guard try session.store(finished, of: owner.userID, by: leaseOwner) else { return false }
            if let former { try session.addDeletion(of: former, in: owner, availableAt: now(), at: now()) }
            return true
        }
        if isRecorded { page = finished }
        return isRecorded
    }

    private func keep(_ page: IndexPageRecord, _ owner: OwningUser) throws {
        let isKept = try store.transaction { try $0.store(page, of: owner.userID, by: leaseOwner) }
        guard isKept else { throw Self.otherProcess }
    }
}

extension RequestContext {
    /// How long changes are collected for one page, in seconds.
    private static let indexPageDelaySeconds: Int64 = 15

    /// If the configuration enables index pages, schedules a rewrite for every owner whose files changed in a group's
    /// new master version.
    func scheduleIndexPages(
        ofChangesIn groupID: SharingGroupID, as version: MasterVersion, isRenamed: Bool,
        using session: inout StoreSession
    ) throws(StoreError) {
        guard services.settings.writesIndexPage else { return }
        let due = WireDate(secondsSince1970: now.secondsSince1970 + Self.indexPageDelaySeconds)
        try session.scheduleIndexPages(ofChangesIn: groupID, as: version, availableAt: due, at: now)
        if isRenamed { try session.scheduleIndexPages(ofOwnersIn: groupID, availableAt: due, at: now) }
    }

    /// Schedules a rewrite of an owner's index page, if they have storage.
    func scheduleIndexPage(of user: UserRecord, using session: inout StoreSession) throws(StoreError) {
        guard services.settings.writesIndexPage, let storageType = user.accountType.cloudStorageType else { return }
        let due = WireDate(secondsSince1970: now.secondsSince1970 + Self.indexPageDelaySeconds)
        try session.scheduleIndexPage(
            of: OwningUser(userID: user.userID, storageType: storageType), availableAt: due, at: now)
    }
}
