import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Streams many small files from the phone into their owners' storages, and stages each for the next commit.
///
/// Each file is checked, stored and staged by the rules of ``UploadFileEndpoint``, and has its own result; the request
/// fails as a whole only for a reason that concerns all files, such as a malformed body. Several files are uploaded to
/// the provider at once, while the next one arrives. All intents are committed in one transaction, and so are all
/// staged rows. If the body breaks off, the files that have arrived are staged. A repeated request finds them, and
/// stores nothing again.
struct UploadSmallFilesEndpoint: TransferEndpoint {
    private static let limits = SmallFileLimits.current

    func admit(_ request: UploadSmallFilesRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
        _ = try Self.reader(of: context)
    }

    /// - Throws: ``ErrorCode/lengthRequired``, ``ErrorCode/bodyTooLarge``, ``ErrorCode/mediaTypeUnsupported``.
    private static func reader(of context: RequestContext) throws(Refusal) -> SmallFileReader {
        guard let length = context.head.contentLength else { throw Refusal(.lengthRequired) }
        guard length <= limits.maximumBodyBytes else { throw .bodyTooLarge(maximumBytes: limits.maximumBodyBytes) }
        guard let form = context.head.header(.contentType).flatMap(SmallFileForm.init(contentType:)) else {
            throw Refusal(.mediaTypeUnsupported, "this request requires multipart/form-data with a boundary")
        }
        return SmallFileReader(context.body, form, announcedBytes: length, limits)
    }

    func respond(
        to request: UploadSmallFilesRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let member = try caller.member(of: request.sharingGroupUUID, in: context.store)
        var reader = try Self.reader(of: context)
        let uploads = SmallFileUploads(
            try reader.files(), to: request.sharingGroupUUID, limits: Self.limits, from: caller, in: context)
        defer { uploads.discardRest() }
        try uploads.decide()
        try uploads.reserve(for: member.user)
        let arrival = Result { try uploads.transfer(&reader) }
        try uploads.stage()
        try arrival.get()
        return .json(UploadSmallFilesResponse(results: uploads.results()))
    }
}

extension UploadSmallFilesRequest: AdmittedRequest {
    typealias Handler = UploadSmallFilesEndpoint
}

/// The files of one request, each with its progress.
private final class SmallFileUploads {
    private struct File {
        let sizeBytes: Int64
        var progress: Progress
    }

    private enum Progress {
        case requested(UploadFileRequest, fileExtension: String)
        /// The bytes are needed.
        case decided(StagingStep, UploadPlan, fileExtension: String)
        case reserved(StagingStep, UploadPlan, UploadIntent, UserStorage)
        case sending(StagingStep, UploadPlan, UploadIntent, ContentHashes)
        case stored(StagingStep, StoredContent, UploadIntent)
        case done(UploadFileResponse)
        case refused(any Error)
    }

    private var files: [File]
    /// The intents of all files, in no particular order.
    private var intents: [UploadIntent] = []
    private let senders: ConcurrentUploads
    private let caller: GroupCaller
    private let context: RequestContext

    init(
        _ files: [SmallFile], to group: SharingGroupUUID, limits: SmallFileLimits, from caller: GroupCaller,
        in context: RequestContext
    ) {
        self.caller = caller
        self.context = context
        senders = ConcurrentUploads(of: caller.userID, in: context.services)
        var known: Set<FileUUID> = []
        self.files = files.map { file in
            do {
                let request = try UploadFileRequest(query: file.parameters)
                guard request.sharingGroupUUID == group else {
                    throw Refusal(.parameterOutOfRange, "sharingGroupUUID must be that of the whole request")
                }
                guard known.insert(request.fileUUID).inserted else {
                    throw Refusal(.repeatedParameter, "the request contains this file twice")
                }
                guard file.sizeBytes <= limits.maximumFileBytes else {
                    throw Refusal(
                        .bodyTooLarge, "files of more than \(limits.maximumFileBytes) bytes require UploadFile")
                }
                let fileExtension = try request.fileExtension(ofBytes: file.sizeBytes, context.services.settings)
                return File(sizeBytes: file.sizeBytes, progress: .requested(request, fileExtension: fileExtension))
            } catch {
                return File(sizeBytes: file.sizeBytes, progress: .refused(error))
            }
        }
    }

    // MARK: Before the bytes

    /// Applies the rules, on one snapshot.
    func decide() throws {
        let requested = files.enumerated().compactMap { index, file -> (Int, UploadCheck, String)? in
            guard case .requested(let request, let fileExtension) = file.progress else { return nil }
            return (index, UploadCheck(request: request, caller: caller, context: context), fileExtension)
        }
        guard !requested.isEmpty else { return }
        let outcomes = try UploadCheck.run(requested.map { $0.1 }, in: context.store)
        for ((index, check, fileExtension), outcome) in zip(requested, outcomes) {
            switch outcome {
            case .failure(let refusal): files[index].progress = .refused(refusal)
            case .success(.answered(let response)): files[index].progress = .done(response)
            case .success(.decided(let decision, let grounds)):
                let step = StagingStep(request: check.request, caller: caller, grounds: grounds, context: context)
                if case .upload(let plan) = decision {
                    files[index].progress = .decided(step, plan, fileExtension: fileExtension)
                } else {
                    attempt(index) { .done(try step.stageAgain()) }
                }
            }
        }
    }

    /// Reserves the objects, and commits the intents of each owner's files in one transaction.
    func reserve(for user: SignedInUser) throws {
        var waiting = files.indices.filter { if case .decided = files[$0].progress { true } else { false } }
        while let first = waiting.first, case .decided(_, let firstPlan, _) = files[first].progress {
            let owner = firstPlan.owner
            var same: [(index: Int, step: StagingStep, plan: UploadPlan, name: CloudFileName)] = []
            for index in waiting {
                guard case .decided(let step, let plan, let fileExtension) = files[index].progress,
                    plan.owner == owner
                else { continue }
                same.append(
                    (index, step, plan, step.request.cloudFileName(from: user.device, fileExtension: fileExtension)))
            }
            do {
                let storage = try context.storage(of: owner, for: user)
                let reservations = try same.map { file in
                    try storage.provider.reserve(name: file.name.rawValue, in: storage.access)
                }
                let committed = try UploadIntent.commit(
                    toStore: reservations, in: owner, storage, by: context.intents)
                intents += committed
                for (file, intent) in zip(same, committed) {
                    files[file.index].progress = .reserved(file.step, file.plan, intent, storage)
                }
            } catch let error as StoreError {
                throw error
            } catch {
                // The failure concerns the owner's storage, and so all files in it.
                for file in same { files[file.index].progress = .refused(error) }
            }
            waiting.removeAll { index in same.contains { $0.index == index } }
        }
    }

    // MARK: The bytes

    /// Hands each file to its storage as soon as it has arrived with the right checksum.
    func transfer(_ reader: inout SmallFileReader) throws {
        defer { takeOutcomes() }
        let keepAlive = { [self] in try UploadIntent.keepAlive(intents) }
        for index in files.indices {
            let size = files[index].sizeBytes
            guard case .reserved(let step, let plan, let intent, let storage) = files[index].progress else {
                try reader.skip(size, keepAlive: keepAlive)
                continue
            }
            guard takeMemory(size) else {
                files[index].progress = .refused(Refusal.directionFull)
                try reader.skip(size, keepAlive: keepAlive)
                continue
            }
            var memory: ReservedMemory? = ReservedMemory(Int(size), of: context.services.partBudget)
            let bytes = try reader.contents(Int(size), keepAlive: keepAlive)
            attempt(index) {
                let (content, hashes) = try BytesContent.verified(bytes, plan.checkSum, for: plan.owner.storageType)
                try UploadIntent.keepAlive(intents)
                guard intent.isHeld else { throw Refusal(.uploadConflict) }
                var storage = storage
                storage.access.deadline = .after(context.services.settings.requestTime)
                let call = (storage, content, intent.reservation, step.request.mimeType, memory)
                memory = nil
                senders.send(index, PassedToThread(call))
                return .sending(step, plan, intent, hashes)
            }
        }
        try reader.end()
    }

    /// Reserves memory for a file; waits until an upload in progress has released enough.
    private func takeMemory(_ bytes: Int64) -> Bool {
        while !context.services.partBudget.take(exactly: Int(bytes)) {
            guard senders.waitForOne() else { return false }
        }
        return true
    }

    /// Waits until no upload is in progress.
    private func takeOutcomes() {
        for (index, outcome) in senders.outcomes() {
            guard case .sending(let step, let plan, let intent, let hashes) = files[index].progress else { continue }
            switch outcome {
            case .success(let object):
                let content = StoredContent(object, ofBytes: files[index].sizeBytes, hashes, in: plan.owner)
                files[index].progress = .stored(step, content, intent)
            case .failure(let error):
                intent.giveUp()
                intents.removeAll { $0 === intent }
                files[index].progress = .refused(error)
            }
        }
    }

    // MARK: Staging

    /// Stages all stored files, in one transaction for each batch and one for the files without a batch, unless one of
    /// them is refused.
    func stage() throws {
        context.restartClock()
        var stored: [(index: Int, step: StagingStep, content: StoredContent, intent: UploadIntent)] = []
        for (index, file) in files.enumerated() {
            if case .stored(let step, let content, let intent) = file.progress {
                stored.append((index, step, content, intent))
            }
        }
        // Two requests with the same files then lock their rows in the same order.
        stored.sort { $0.step.request.fileUUID.rawValue.lowercased() < $1.step.request.fileUUID.rawValue.lowercased() }
        while let batch = stored.first.map({ $0.step.request.batch?.batchUUID }) {
            let together = stored.filter { $0.step.request.batch?.batchUUID == batch }
            stored.removeAll { $0.step.request.batch?.batchUUID == batch }
            if let outcomes = try StagingStep.stage(together.map { ($0.step, $0.content, $0.intent) }) {
                for (file, outcome) in zip(together, outcomes) { end(file.index, file.intent, outcome) }
            } else {
                stageEach(together)
            }
        }
    }

    private func stageEach(
        _ stored: [(index: Int, step: StagingStep, content: StoredContent, intent: UploadIntent)]
    ) {
        for file in stored {
            do {
                end(file.index, file.intent, try file.step.run(file.content, file.intent))
            } catch {
                files[file.index].progress = .refused(error)
            }
        }
    }

    private func end(_ index: Int, _ intent: UploadIntent, _ outcome: StagingStep.Outcome) {
        files[index].progress = .done(outcome.response)
        if outcome.isObjectUsed { intents.removeAll { $0 === intent } }
    }

    /// Ends the intents of files that are not staged.
    func discardRest() {
        var unsent: [UploadIntent] = []
        for file in files {
            guard case .reserved(_, _, let intent, _) = file.progress else { continue }
            unsent.append(intent)
            intents.removeAll { $0 === intent }
        }
        UploadIntent.withdraw(unsent)
        for intent in intents { intent.giveUp() }
        intents = []
    }

    private func attempt(_ index: Int, _ step: () throws -> Progress) {
        do { files[index].progress = try step() } catch { files[index].progress = .refused(error) }
    }

    /// The result of each file; refusals are logged by code.
    func results() -> [UploadSmallFilesResponse.Result] {
        var counts: [ErrorCode: (count: Int, first: any Error)] = [:]
        let results = files.map { file -> UploadSmallFilesResponse.Result in
            let error: any Error
            switch file.progress {
            case .done(let response): return .message(response)
            case .refused(let cause): error = cause
            case .requested, .decided, .reserved, .sending, .stored: error = Refusal(.internal)
            }
            let refusal = Refusal(for: error)
            counts[refusal.code, default: (0, error)].count += 1
            return .refused(
                refusal.body(requestID: context.head.requestID), retryAfter: refusal.retryAfterSeconds)
        }
        for (code, refused) in counts {
            context.logger.log(
                level: code.status < 500 ? .notice : Logger.Level(ofFailure: refused.first), "Files refused",
                metadata: .keyed([
                    .code: "\(code.rawValue)", .count: "\(refused.count)",
                    .reason: "\(code.status < 500 ? code.sentence : String(reflecting: refused.first))",
                ]))
        }
        return results
    }
}
