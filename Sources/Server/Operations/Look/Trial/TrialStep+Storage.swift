import OpenSSLCrypto
import Providers
import SyncProtocol

// The server's requests to a storage.
extension TrialStep {
    static let storage = TrialStep("storage", expected: "the account has storage that the server may use") {
        trial in
        guard let stored = trial.stored, stored.usableToken != nil else {
            return .notTried("the server has no access token")
        }
        try trial.account.requireStorage(with: stored, through: trial.client)
        let (provider, access) = (try trial.requireStorage(), trial.access)
        var left: [StoredObject] = []
        try provider.list(in: access) { page in left += page.filter { $0.name.hasPrefix(TrialAccount.objectPrefix) } }
        trial.isStorageOpen = true
        return .passed(
            ([
                left.isEmpty
                    ? "it does"
                    : "it does; \(left.count) objects of an earlier trial remain there, and will be deleted at the end"
            ] + trial.remarks.all).joined(separator: "; "))
    }

    static let quota = TrialStep(
        "quota", expected: "the storage reports its free space, which is enough for the trial",
        needs: ["storage"]
    ) { trial in
        guard let owner = try trial.requireOwner() else { return .notOffered("there is no such request") }
        guard let free = try owner.freeBytes(in: trial.access) else {
            return owner.storageType.traits.reportsFreeBytes
                ? .failed("no quota is reported: some accounts of organizations have no quota of their own")
                : .notOffered("this server does not report it")
        }
        guard free >= 2 * Int64(TrialAccount.largeBytes) else {
            return .failed("the storage is almost full: uploads will be rejected")
        }
        return .passed("there is enough space")
    }

    // MARK: Uploads

    static let smallUpload = TrialStep(
        "smallUpload", expected: "a small file is stored, and the reported hash equals the computed one",
        needs: ["storage"]
    ) { trial in
        try store(TrialAccount.smallBytes, "small", trial)
        return .passed("it is stored, with the correct size and hash")
    }

    static let largeUpload = TrialStep(
        "largeUpload",
        expected: "a large file is stored in parts, continues after a broken connection, and has the correct hash",
        needs: ["smallUpload"]
    ) { trial in
        trial.connection.plan(.uploadOfPart(after: 1, atLeast: 1 << 20, ofContentOf: TrialAccount.largeBytes))
        defer { trial.connection.plan(.nothing) }
        try store(TrialAccount.largeBytes, "large", trial)
        return trial.connection.hasBroken
            ? .passed("it is stored, with the correct size and hash, although the second part's connection broke")
            : .passed(
                "it is stored in one request, which starts over after an interruption: this storage has no "
                    + "uploads in parts")
    }

    private static func store(_ count: Int, _ name: String, _ trial: TrialAccount) throws {
        let provider = try trial.requireStorage()
        let content = try TrialContent(count: count, for: provider.storageType)
        let fullName = trial.name(name + ".bin")
        trial.names.insert(fullName)
        let reservation = try provider.reserve(name: fullName, in: trial.access)
        if let spare = reservation.spareName { trial.names.insert(spare) }
        var upload = TrialAccount.Upload(
            bytes: content.bytes, hash: content.providerHash, reservation: reservation, stored: nil)
        trial.objects[name] = upload
        do {
            upload.stored = try provider.upload(
                content, as: reservation, mimeType: "application/octet-stream", to: trial.access)
        } catch CloudStorageError.contentMismatch {
            throw WrongContent(of: upload, try? provider.find(name: fullName, in: trial.access))
        }
        trial.objects[name] = upload
    }

    // MARK: Stored files

    static let description = TrialStep(
        "description", expected: "name, size, hash and revision of the file are reported", needs: ["smallUpload"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("small")
        let provider = try trial.requireStorage()
        var described = try provider.describe(objectID: stored.objectID, in: trial.access)
        if described.providerHash == nil, provider.storageType.traits.reportsHashLate {
            _ = try trial.eventually {
                described = try provider.describe(objectID: stored.objectID, in: trial.access)
                return described.providerHash != nil
            }
        }
        if described.name != stored.name { return .failed("a different name is reported") }
        if described.sizeBytes != Int64(upload.bytes.count)
            || described.providerHash.map({ $0 != upload.hash }) ?? false
        {
            throw WrongContent(of: upload, described)
        }
        guard described.providerHash != nil else {
            return .passed(
                "they are, but without a hash: the server reads the contents")
        }
        return described.revision == nil ? .failed("there is no revision") : .passed("they are correct")
    }

    static let download = TrialStep(
        "download", expected: "the stored contents are returned", needs: ["smallUpload"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("small")
        let bytes = try read(stored.objectID, nil, trial)
        guard bytes == upload.bytes else { return .failed(difference(bytes, upload.bytes)) }
        return .passed("they are returned" + repeated(trial))
    }

    static let range = TrialStep(
        "range", expected: "a request for a range returns only its bytes, with status 206", needs: ["download"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("small")
        let range: ClosedRange<Int64> = 1_000...1_999
        let bytes = try read(stored.objectID, range, trial)
        guard let reply = trial.recorder.calls.last(where: { $0.isSmooth }), reply.contentRange != nil else {
            return .failed("the whole file is returned instead of the range")
        }
        guard bytes == Array(upload.bytes[1_000...1_999]) else {
            return .failed(difference(bytes, Array(upload.bytes[1_000...1_999])))
        }
        return .passed(reply.status == 206 ? "it does" : "it does, with a different status, which is also accepted")
    }

    static let resumedDownload = TrialStep(
        "resumedDownload", expected: "a download continues after a broken connection", needs: ["largeUpload"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("large")
        trial.connection.plan(.download(after: TrialAccount.largeBytes / 3))
        defer { trial.connection.plan(.nothing) }
        let bytes = try read(stored.objectID, nil, trial)
        guard bytes == upload.bytes else { return .failed(difference(bytes, upload.bytes)) }
        return trial.connection.hasBroken ? .passed("it does") : .failed("the connection could not be broken")
    }

    private static func read(_ objectID: String, _ range: ClosedRange<Int64>?, _ trial: TrialAccount) throws -> [UInt8]
    {
        var bytes: [UInt8] = []
        try trial.requireStorage().download(
            objectID: objectID, range: range, from: trial.access, begin: { _ in },
            receive: { part in
                for index in part.indices { bytes.append(part[index]) }
                // An endless reply cannot be the stored file.
                return bytes.count <= 2 * TrialAccount.largeBytes
            })
        return bytes
    }

    private static func difference(_ came: [UInt8], _ expected: [UInt8]) -> String {
        guard came.count == expected.count else {
            return "\(came.count) bytes are returned instead of \(expected.count)"
        }
        let place = zip(came, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? 0
        return "the contents differ, first at position \(place)"
    }

    /// The number of repeated calls, as the end of a sentence; empty if there were none.
    private static func repeated(_ trial: TrialAccount) -> String {
        let count = trial.recorder.calls.count { $0.failure != nil }
        return count == 0 ? "" : ", after \(count) broken calls"
    }

    // MARK: Changes by the owner

    static let rename = TrialStep(
        "rename",
        expected: "a file that its owner has renamed is found by its identifier, or on plain servers only by its name",
        needs: ["smallUpload"]
    ) { trial in
        guard let owner = try trial.requireOwner() else { return .notOffered("objects cannot be renamed") }
        let (upload, stored) = try trial.requireUpload("small")
        let newName = trial.name("renamed.bin")
        trial.names.insert(newName)
        let keepsIdentifier = try owner.rename(
            objectID: stored.objectID, from: stored.name, to: newName, in: trial.access)
        if keepsIdentifier {
            let described: StoredObject
            do { described = try owner.describe(objectID: stored.objectID, in: trial.access) } catch CloudStorageError
                .notFound
            {
                return .failed("it is no longer found by its identifier: phones get the reply that the file is gone")
            }
            guard described.name == newName else { return .failed("it still has its old name") }
            guard try read(stored.objectID, nil, trial) == upload.bytes else { return .failed("the contents differ") }
            trial.objects["small"]?.stored = described
            return .passed("it is found by its identifier")
        }
        do {
            _ = try owner.describe(objectID: stored.objectID, in: trial.access)
            return .failed("the old name still exists")
        } catch CloudStorageError.notFound {}
        guard let found = try owner.find(name: newName, in: trial.access) else {
            return .failed("it is not found by its new name")
        }
        trial.objects["small"]?.stored = found
        return .passed(
            "it is found only by its new name: phones get the reply that the file is gone until it has its old name "
                + "again")
    }

    static let listing = TrialStep(
        "listing",
        expected: "the folder's listing contains the files, and each is found by its name", needs: ["smallUpload"]
    ) { trial in
        let (provider, names) = (try trial.requireStorage(), trial.objects.values.compactMap { $0.stored?.name })
        let isListed = try trial.eventually {
            var listed: Set<String> = []
            try provider.list(in: trial.access) { page in listed.formUnion(page.map(\.name)) }
            return listed.isSuperset(of: names)
        }
        guard isListed else { return .failed("a file is missing from the listing") }
        let areFound = try trial.eventually {
            try names.allSatisfy { try provider.find(name: $0, in: trial.access) != nil }
        }
        return areFound ? .passed("they are found") : .failed("a file is not found by its name")
    }

    // MARK: The end

    static let deletion = TrialStep(
        "deletion", expected: "a file is deleted, and no longer exists", needs: ["smallUpload"]
    ) { trial in
        let (_, stored) = try trial.requireUpload("small")
        let provider = try trial.requireStorage()
        try provider.delete(objectID: stored.objectID, in: trial.access)
        let isGone = try trial.eventually {
            do {
                // A file in the bin still counts towards the quota, so it is not gone.
                _ = try provider.describe(objectID: stored.objectID, in: trial.access)
                return false
            } catch CloudStorageError.notFound {
                return true
            }
        }
        return isGone ? .passed("it is gone") : .failed("the deletion is confirmed, but the file still exists")
    }

    static let repeatedDeletion = TrialStep(
        "repeatedDeletion", expected: "deleting a missing file succeeds", needs: ["deletion"]
    ) { trial in
        let (_, stored) = try trial.requireUpload("small")
        try trial.requireStorage().delete(objectID: stored.objectID, in: trial.access)
        trial.objects["small"] = nil
        return .passed("it does")
    }

    static let cleaningUp = TrialStep(cleanUp, expected: "no objects of the trial remain in the storage") { trial in
        guard trial.isStorageOpen else { return .notTried("nothing was stored") }
        return try TrialCleanUp(trial).run()
    }
}

/// The storage's description of a file does not match the uploaded content.
struct WrongContent: Error {
    let words: String

    init(of upload: TrialAccount.Upload, _ reported: StoredObject?) {
        let reported = reported.map { "\($0.sizeBytes) bytes with the hash \($0.providerHash ?? "(none)")" }
        words =
            "reported: \(reported ?? "a different hash or size"); computed: \(upload.bytes.count) bytes with the hash "
            + upload.hash
    }
}

/// Random content, returned in parts like a phone's upload.
final class TrialContent: UploadContent {
    /// The size of the parts, rounded up to the provider's unit; Amazon accepts no smaller parts.
    static let partBytes = 5 << 20

    /// The number of bytes that the generator returns at a time.
    private static let randomBytes = 64 * 1024

    let bytes: [UInt8]
    let providerHash: String
    private var position = 0

    /// - Throws: ``CryptoError``.
    init(count: Int, for storageType: CloudStorageType) throws {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            bytes += try RandomBytes.generate(count: min(Self.randomBytes, count - bytes.count))
        }
        self.bytes = bytes
        var hasher = ContentHasher(for: storageType)
        hasher.update(bytes)
        providerHash = hasher.finish().providerHash
    }

    var lengthBytes: Int64 { Int64(bytes.count) }

    func reserveMemory(partBytes: Int) -> Bool { true }

    func nextPart(granularity: Int, atMost limit: Int) -> UploadPart {
        part(ofAtMost: min((Self.partBytes + granularity - 1) / granularity * granularity, limit))
    }

    func rest() -> UploadPart { part(ofAtMost: bytes.count) }

    private func part(ofAtMost count: Int) -> UploadPart {
        let end = min(bytes.count, position + count)
        defer { position = end }
        return UploadPart(bytes: bytes[position..<end], offset: Int64(position), isLast: end == bytes.count)
    }
}

/// Deletes all objects that trials have left in a storage, including unfinished parts of interrupted uploads.
struct TrialCleanUp {
    private let trial: TrialAccount

    init(_ trial: TrialAccount) { self.trial = trial }

    func run() throws -> TrialVerdict {
        let provider = try trial.requireStorage()
        for upload in trial.objects.values {
            if let objectID = upload.stored?.objectID ?? upload.reservation.objectID { delete(objectID, in: provider) }
        }
        // Looking up a name also ends an interrupted upload with that name.
        for name in trial.names.sorted() {
            if let found = try? provider.find(name: name, in: trial.access) { delete(found.objectID, in: provider) }
        }
        var others = 0
        let isEmpty = try trial.eventually {
            var own: [StoredObject] = []
            others = 0
            try provider.list(in: trial.access) { page in
                own += page.filter { $0.name.hasPrefix(TrialAccount.objectPrefix) }
                others += page.count { !$0.name.hasPrefix(TrialAccount.objectPrefix) }
            }
            for object in own { delete(object.objectID, in: provider) }
            return own.isEmpty
        }
        guard isEmpty else {
            return .failed(
                "some objects remain: remove those whose names begin with \(TrialAccount.objectPrefix) from the "
                    + "storage by hand")
        }
        if others == 0, let owner = try trial.requireOwner() { try owner.removeEmptyFolder(in: trial.access) }
        return .passed("no objects remain")
    }

    /// The listing shows whether it worked.
    private func delete(_ objectID: String, in provider: any CloudProvider) {
        try? provider.delete(objectID: objectID, in: trial.access)
    }
}
