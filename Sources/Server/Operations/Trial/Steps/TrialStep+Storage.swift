import Providers
import SyncProtocol

// What the server asks of a storage.
extension TrialStep {
    static let storage = TrialStep("storage", expected: "the account has a storage, which the server may use") {
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
                    ? "it has"
                    : "it has; \(left.count) objects of an earlier trial are left there, and are deleted at the end"
            ] + trial.remarks.all).joined(separator: "; "))
    }

    static let quota = TrialStep(
        "quota", expected: "the storage says how much it still takes, and that is enough for the trial",
        needs: ["storage"]
    ) { trial in
        guard let owner = try trial.requireOwner() else { return .notOffered("there is no such question") }
        guard let free = try owner.freeBytes(in: trial.access) else {
            return owner.storageType == .webDAV
                ? .notOffered("this server does not tell")
                : .failed("no quota is reported: some accounts of organizations have none of their own")
        }
        guard free >= 2 * Int64(TrialAccount.largeBytes) else {
            return .failed("the storage is as good as full: uploads will be refused")
        }
        return .passed("there is enough room")
    }

    // MARK: Uploads

    static let smallUpload = TrialStep(
        "smallUpload", expected: "a small file is stored, and the hash that is reported is the one computed",
        needs: ["storage"]
    ) { trial in
        try store(TrialAccount.smallBytes, "small", trial)
        return .passed("it is stored, with the right size and hash")
    }

    static let largeUpload = TrialStep(
        "largeUpload",
        expected: "a large file is stored in parts, goes on after its connection has broken, and has the right hash",
        needs: ["smallUpload"]
    ) { trial in
        trial.connection.plan(.uploadOfPart(after: 1, atLeast: 1 << 20, ofContentOf: TrialAccount.largeBytes))
        defer { trial.connection.plan(.nothing) }
        try store(TrialAccount.largeBytes, "large", trial)
        return trial.connection.hasBroken
            ? .passed("it is stored, with the right size and hash, although the second part's connection broke")
            : .passed("it is stored in one request, which begins again after an interruption: there are no parts here")
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

    // MARK: What is stored

    static let description = TrialStep(
        "description", expected: "name, size, hash and revision of the file are reported", needs: ["smallUpload"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("small")
        let provider = try trial.requireStorage()
        var described = try provider.describe(objectID: stored.objectID, in: trial.access)
        if described.providerHash == nil, provider.storageType.reportsHashLate {
            _ = try trial.eventually {
                described = try provider.describe(objectID: stored.objectID, in: trial.access)
                return described.providerHash != nil
            }
        }
        if described.name != stored.name { return .failed("another name is reported") }
        if described.sizeBytes != Int64(upload.bytes.count)
            || described.providerHash.map({ $0 != upload.hash }) ?? false
        {
            throw WrongContent(of: upload, described)
        }
        guard described.providerHash != nil else { return .passed("they are, but no hash: the server reads the bytes") }
        return described.revision == nil ? .failed("there is no revision") : .passed("they are right")
    }

    static let download = TrialStep(
        "download", expected: "the bytes that were stored come back", needs: ["smallUpload"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("small")
        let bytes = try read(stored.objectID, nil, trial)
        guard bytes == upload.bytes else { return .failed(difference(bytes, upload.bytes)) }
        return .passed("they come back" + repeated(trial))
    }

    static let range = TrialStep(
        "range", expected: "of a range only its bytes are sent, with status 206", needs: ["download"]
    ) { trial in
        let (upload, stored) = try trial.requireUpload("small")
        let range: ClosedRange<Int64> = 1_000...1_999
        let bytes = try read(stored.objectID, range, trial)
        guard let reply = trial.recorder.calls.last(where: { $0.isSmooth }), reply.contentRange != nil else {
            return .failed("the whole file is sent instead of the range")
        }
        guard bytes == Array(upload.bytes[1_000...1_999]) else {
            return .failed(difference(bytes, Array(upload.bytes[1_000...1_999])))
        }
        return .passed(reply.status == 206 ? "they are" : "they are, with another status, which is accepted as well")
    }

    static let resumedDownload = TrialStep(
        "resumedDownload", expected: "a download goes on after its connection has broken", needs: ["largeUpload"]
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
                // Whatever goes on for ever is not ours.
                return bytes.count <= 2 * TrialAccount.largeBytes
            })
        return bytes
    }

    private static func difference(_ came: [UInt8], _ expected: [UInt8]) -> String {
        guard came.count == expected.count else { return "\(came.count) bytes come instead of \(expected.count)" }
        let place = zip(came, expected).enumerated().first { $1.0 != $1.1 }?.offset ?? 0
        return "other bytes come, the first at position \(place)"
    }

    /// How many calls had to be repeated, as the end of a sentence; empty if none had.
    private static func repeated(_ trial: TrialAccount) -> String {
        let count = trial.recorder.calls.count { $0.failure != nil }
        return count == 0 ? "" : ", after \(count) that broke"
    }

    // MARK: Behind the server's back

    static let rename = TrialStep(
        "rename",
        expected: "a file that its owner has renamed is found by its identifier; on plain servers by its name only",
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
                return .failed("it is not found by its identifier any more: phones are told that the file is gone")
            }
            guard described.name == newName else { return .failed("it has its old name still") }
            guard try read(stored.objectID, nil, trial) == upload.bytes else { return .failed("other bytes come") }
            trial.objects["small"]?.stored = described
            return .passed("it is found by its identifier")
        }
        do {
            _ = try owner.describe(objectID: stored.objectID, in: trial.access)
            return .failed("there is something under the old name still")
        } catch CloudStorageError.notFound {}
        guard let found = try owner.find(name: newName, in: trial.access) else {
            return .failed("it is not found by its new name")
        }
        trial.objects["small"]?.stored = found
        return .passed(
            "it is found by its new name only: phones are told that the file is gone until it has its own again")
    }

    static let listing = TrialStep(
        "listing", expected: "the folder's listing has the files, and each is found by its name", needs: ["smallUpload"]
    ) { trial in
        let (provider, names) = (try trial.requireStorage(), trial.objects.values.compactMap { $0.stored?.name })
        let isListed = try trial.eventually {
            var listed: Set<String> = []
            try provider.list(in: trial.access) { page in listed.formUnion(page.map(\.name)) }
            return listed.isSuperset(of: names)
        }
        guard isListed else { return .failed("a file is missing in the listing") }
        let areFound = try trial.eventually {
            try names.allSatisfy { try provider.find(name: $0, in: trial.access) != nil }
        }
        return areFound ? .passed("they are there") : .failed("a file is not found by its name")
    }

    // MARK: The end

    static let deletion = TrialStep(
        "deletion", expected: "a file is deleted, and is not there any more", needs: ["smallUpload"]
    ) { trial in
        let (_, stored) = try trial.requireUpload("small")
        let provider = try trial.requireStorage()
        try provider.delete(objectID: stored.objectID, in: trial.access)
        let isGone = try trial.eventually {
            do {
                // In the bin, where it counts towards the quota, is not gone.
                _ = try provider.describe(objectID: stored.objectID, in: trial.access)
                return false
            } catch CloudStorageError.notFound {
                return true
            }
        }
        return isGone ? .passed("it is gone") : .failed("the deletion is confirmed, but the file is still there")
    }

    static let repeatedDeletion = TrialStep(
        "repeatedDeletion", expected: "a file that is not there counts as deleted", needs: ["deletion"]
    ) { trial in
        let (_, stored) = try trial.requireUpload("small")
        try trial.requireStorage().delete(objectID: stored.objectID, in: trial.access)
        trial.objects["small"] = nil
        return .passed("it does")
    }

    static let cleaningUp = TrialStep(cleanUp, expected: "nothing of the trial is left in the storage") { trial in
        guard trial.isStorageOpen else { return .notTried("nothing was stored") }
        return try TrialCleanUp(trial).run()
    }
}

/// What a storage reports of a file does not fit to what was sent.
struct WrongContent: Error {
    let words: String

    init(of upload: TrialAccount.Upload, _ reported: StoredObject?) {
        let reported = reported.map { "\($0.sizeBytes) bytes with the hash \($0.providerHash ?? "(none)")" }
        words =
            "reported: \(reported ?? "another hash or size"); computed: \(upload.bytes.count) bytes with the hash "
            + upload.hash
    }
}
