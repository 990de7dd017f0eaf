import Providers
import Store
import SyncProtocol
import Vault

/// Streams a file version from the phone into its owner's storage and stages it for the next commit.
///
/// Everything that can be checked is checked before the first byte is sent, and again when the row is staged, since no
/// lock is held in between. An intent committed beforehand makes sure that an unreferenced object is deleted, wherever
/// this stops. A duplicate request finds its row and gets the same dates; of two concurrent requests, the second to
/// stage discards only its own object. The last upload of a batch commits the batch (``BatchMember``); a repetition
/// after that finds the commit.
struct UploadFileEndpoint: TransferEndpoint {
    func admit(_ request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try Self.fileExtension(of: request, in: context)
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    /// Checks what the request's head announces about the file: its length, and the type's extension.
    private static func fileExtension(
        of request: UploadFileRequest, in context: RequestContext
    ) throws(EndpointError) -> String {
        try request.fileExtension(ofBytes: context.head.contentLength, context.services.settings)
    }

    func respond(
        to request: UploadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        guard let length = context.head.contentLength else { throw EndpointError.lengthRequired }
        let fileExtension = try Self.fileExtension(of: request, in: context)
        let plan: UploadPlan
        let step: StagingStep
        switch try UploadCheck(request: request, caller: caller, context: context).run() {
        case .answered(let response): return .header(response)
        case .decided(let decision, let grounds):
            step = StagingStep(request: request, caller: caller, grounds: grounds, context: context)
            guard case .upload(let decided) = decision else { return .header(try step.stageAgain()) }
            plan = decided
        }
        let name = request.cloudFileName(from: step.grounds.member.user.device, fileExtension: fileExtension)
        let upload = try Upload.begin(
            name: name, mimeType: request.mimeType, length: length, plan: plan, member: step.grounds.member,
            context: context)
        do {
            let content = try upload.run()
            context.restartClock()
            let outcome = try step.stage(content, upload.intent)
            if !outcome.isObjectUsed { upload.intent.giveUp() }
            return .header(outcome.response)
        } catch {
            upload.intent.giveUp()
            throw error
        }
    }
}

extension UploadFileRequest: AdmittedRequest {
    typealias Handler = UploadFileEndpoint
}

/// The transfer from the phone to the cloud.
private struct Upload {
    let mimeType: MIMEType
    let plan: UploadPlan
    let storage: UserStorage
    let intent: UploadIntent
    let content: PhoneUpload

    /// Reserves a place at the provider, and commits the intent to use it.
    static func begin(
        name: CloudFileName, mimeType: MIMEType, length: Int64, plan: UploadPlan, member: Member,
        context: RequestContext
    ) throws -> Upload {
        let storage = try context.storage(of: plan.owner, for: member.user)
        let reservation = try storage.provider.reserve(name: name.rawValue, in: storage.access)
        let intent = try UploadIntent.commit(toStore: reservation, in: plan.owner, context: context)
        let content = PhoneUpload(
            context.body, lengthBytes: length, expected: plan.checkSum, storageType: plan.owner.storageType,
            budget: context.services.partBudget, keepAlive: { try intent.keepAlive() },
            beforeEnd: { try intent.confirm() })
        return Upload(mimeType: mimeType, plan: plan, storage: storage, intent: intent, content: content)
    }

    /// Transfers the bytes.
    func run() throws -> StoredContent {
        let stored = try storage.upload(content, as: intent.reservation, mimeType)
        guard let hashes = content.hashes else { throw CloudStorageError.contentMismatch }
        return StoredContent(stored, of: content, hashes, in: plan.owner)
    }
}

extension UserStorage {
    /// Transfers the bytes.
    ///
    /// Each part has its own deadline, from the moment it has arrived; slow phones are TransferPace's business.
    func upload(
        _ content: PhoneUpload, as reservation: ObjectReservation, _ mimeType: MIMEType
    ) throws -> StoredObject {
        do {
            return try provider.upload(content, as: reservation, mimeType: mimeType.rawValue, to: access)
        } catch .contentFailed(let cause) {
            // Invalid data from the phone, or its disconnection, is not a failure of the cloud.
            throw cause
        }
    }
}

extension StoredContent {
    init(_ object: StoredObject, of content: PhoneUpload, _ hashes: ContentHashes, in owner: OwningUser) {
        self.init(
            owningUser: owner, checkSum: hashes.checkSum, sha256: object.sha256, sizeBytes: content.lengthBytes,
            objectID: object.objectID, objectRevision: object.revision,
            providerHash: object.providerHash == hashes.checkSum.rawValue ? nil : object.providerHash)
    }
}

extension UploadFileRequest {
    /// Checks what is announced about the file.
    /// - Returns: the extension of names of such files.
    func fileExtension(ofBytes length: Int64?, _ settings: Services.Settings) throws(EndpointError) -> String {
        guard let length else { throw .lengthRequired }
        guard length <= settings.maximumUploadBytes else {
            throw .bodyTooLarge(maximumBytes: settings.maximumUploadBytes)
        }
        guard let fileExtension = settings.mimeTypes.fileExtension(for: mimeType) else { throw .unknownMIMEType }
        guard fileGroupUUID == nil || fileVersion == .first else {
            throw .outOfRange("fileGroupUUID can be given with version 0 only")
        }
        return fileExtension
    }

    func cloudFileName(from device: DeviceUUID, fileExtension: String) -> CloudFileName {
        CloudFileName(fileUUID: fileUUID, deviceUUID: device, fileVersion: fileVersion, fileExtension: fileExtension)
    }
}
