import Store
import SyncProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The purpose of an upload in pieces, as stored in its row.
enum UploadPurpose {
    /// A new version to be staged, with the hash that the storage must report if the client sends the bytes directly.
    case staging(UploadFileRequest, storageHash: StorageHash? = nil)
    /// The bytes of a version that waits for them.
    case reupload(ReuploadFileRequest)

    private static let reuploadPrefix = "\(EndpointName.reuploadFile.rawValue)?"

    /// - Throws: `RequestError` if the text is not ``stored``.
    init(stored text: String) throws(RequestError) {
        if text.hasPrefix(Self.reuploadPrefix) {
            self = .reupload(try ReuploadFileRequest(query: String(text.dropFirst(Self.reuploadPrefix.count))))
        } else {
            let request = try CreateUploadRequest(query: text)
            self = .staging(request.upload, storageHash: request.storageHash)
        }
    }

    var stored: String {
        switch self {
        case .staging(let request, let storageHash):
            CreateUploadRequest(request, storageHash: storageHash).encodedQuery(.unreserved)
        case .reupload(let request): Self.reuploadPrefix + request.encodedQuery(.unreserved)
        }
    }

    var sharingGroupUUID: SharingGroupUUID {
        switch self {
        case .staging(let request, _): request.sharingGroupUUID
        case .reupload(let request): request.sharingGroupUUID
        }
    }

    /// The upload from the viewpoint of a request that sends bytes of it.
    /// - Parameter masterVersion: the current one, if the request states it.
    func goal(
        from masterVersion: MasterVersion?, by caller: GroupCaller, in context: RequestContext
    ) -> any UploadGoal {
        switch self {
        case .staging(let request, let storageHash):
            StagingGoal(
                request: masterVersion.map { request.from($0) } ?? request, caller: caller, context: context,
                storageHash: storageHash)
        case .reupload(let request):
            ReuploadGoal(reupload: Reupload(request: request, caller: caller, context: context))
        }
    }
}

/// The goal of an upload in pieces.
protocol UploadGoal {
    var sharingGroupUUID: SharingGroupUUID { get }
    var mimeType: MIMEType { get }
    var checkSum: CheckSum { get }
    /// The hash that the storage must report, if that is not the checksum; `nil` if the client has not announced it.
    var storageHash: StorageHash? { get }

    /// Whether groups and their members currently allow the bytes in that owner's storage.
    func mayUse(storageOf owner: OwningUser) throws -> Bool

    /// The destination of the bytes, or the reply if they are not needed.
    func destination(ofBytes lengthBytes: Int64) throws -> UploadAnswer<UploadDestinationPlan>

    /// What is known of the bytes besides their checksum, before more of them arrive, or the reply if they are no
    /// longer needed.
    func identity(ofBytes lengthBytes: Int64) throws -> UploadAnswer<ContentIdentity?>

    /// Uses the object that holds all of the bytes for its purpose.
    func complete(with content: StoredContent, _ intent: UploadIntent) throws -> UploadCompletion
}

/// A reply in the form of the request that would have sent all bytes at once, or the data needed to continue.
enum UploadAnswer<Decision> {
    case answered(any ResponseMessage)
    case decided(Decision)

    func map<Other>(_ transform: (Decision) -> Other) -> UploadAnswer<Other> {
        switch self {
        case .answered(let response): .answered(response)
        case .decided(let decision): .decided(transform(decision))
        }
    }
}

/// The destination of the bytes of an upload.
struct UploadDestinationPlan {
    let member: Member
    let owner: OwningUser
    /// The object's name.
    let name: CloudFileName
    /// The announced checksum in the canonical form of the owner's storage.
    let checkSum: CheckSum
    /// What else the bytes must match.
    let identity: ContentIdentity?
}

/// The outcome for the object of an upload.
struct UploadCompletion {
    let response: any ResponseMessage
    /// Whether a file or a staged change now refers to the object.
    let isObjectUsed: Bool
}

/// A new version, which is staged.
struct StagingGoal: UploadGoal {
    let request: UploadFileRequest
    let caller: GroupCaller
    let context: RequestContext
    var storageHash: StorageHash?

    var sharingGroupUUID: SharingGroupUUID { request.sharingGroupUUID }
    var mimeType: MIMEType { request.mimeType }
    var checkSum: CheckSum { request.checkSum }

    func mayUse(storageOf owner: OwningUser) throws -> Bool {
        try context.store.snapshot { session in
            let (member, situation) = try caller.memberUploading(
                request.fileUUID, to: request.sharingGroupUUID, using: &session)
            // If another owner's file was faster, nothing can be staged; the last step reports that.
            if situation.current == nil { return member.owningUser?.userID == owner.userID }
            return try session.isMember(owner.userID, of: member.groupID)
        }
    }

    func destination(ofBytes lengthBytes: Int64) throws -> UploadAnswer<UploadDestinationPlan> {
        switch try UploadCheck(request: request, caller: caller, context: context).run() {
        case .answered(let response): return .answered(response)
        case .decided(let decision, let grounds):
            guard case .upload(let plan) = decision else {
                let step = StagingStep(request: request, caller: caller, grounds: grounds, context: context)
                return .answered(try step.stageAgain())
            }
            try plan.checkMayComeInPieces()
            let fileExtension = try request.fileExtension(ofBytes: lengthBytes, context.services.settings)
            let name = request.cloudFileName(from: grounds.member.user.device, fileExtension: fileExtension)
            return .decided(
                UploadDestinationPlan(
                    member: grounds.member, owner: plan.owner, name: name, checkSum: plan.checkSum, identity: nil))
        }
    }

    func identity(ofBytes lengthBytes: Int64) -> UploadAnswer<ContentIdentity?> { .decided(nil) }

    func complete(with content: StoredContent, _ intent: UploadIntent) throws -> UploadCompletion {
        switch try UploadCheck(request: request, caller: caller, context: context).run() {
        case .answered(let answer): return UploadCompletion(response: answer, isObjectUsed: false)
        case .decided(_, let grounds):
            let step = StagingStep(request: request, caller: caller, grounds: grounds, context: context)
            return try step.stage(content, intent)
        }
    }
}

/// The bytes of a version that waits for them.
struct ReuploadGoal: UploadGoal {
    let reupload: Reupload

    var sharingGroupUUID: SharingGroupUUID { reupload.request.sharingGroupUUID }
    var mimeType: MIMEType { reupload.request.mimeType }
    var checkSum: CheckSum { reupload.request.checkSum }
    /// These bytes are never sent directly.
    var storageHash: StorageHash? { nil }

    func mayUse(storageOf owner: OwningUser) throws -> Bool {
        try reupload.context.store.snapshot { session in
            let member = try reupload.caller.member(of: sharingGroupUUID, using: &session)
            return try session.isMember(owner.userID, of: member.groupID)
        }
    }

    func destination(ofBytes lengthBytes: Int64) throws -> UploadAnswer<UploadDestinationPlan> {
        try reupload.check(ofBytes: lengthBytes)
    }

    func identity(ofBytes lengthBytes: Int64) throws -> UploadAnswer<ContentIdentity?> {
        try reupload.check(ofBytes: lengthBytes).map(\.identity)
    }

    func complete(with content: StoredContent, _ intent: UploadIntent) throws -> UploadCompletion {
        guard let length = content.sizeBytes else { throw Refusal(.contentMismatch) }
        switch try reupload.check(ofBytes: length) {
        case .answered(let response): return UploadCompletion(response: response, isObjectUsed: false)
        case .decided(let plan):
            let response = try reupload.store(content, from: intent, plan)
            return UploadCompletion(response: response, isObjectUsed: response == .stored)
        }
    }
}

/// The description of an object that holds all bytes of an upload, as stored in the upload's row.
struct KeptContent: Codable {
    private var checkSum: String
    private var sha256: [UInt8]?
    private var sizeBytes: Int64?
    private var objectID: String?
    private var objectRevision: String?
    private var providerHash: String?

    init(_ content: StoredContent) {
        checkSum = content.checkSum.rawValue
        sha256 = content.sha256
        sizeBytes = content.sizeBytes
        objectID = content.objectID
        objectRevision = content.objectRevision
        providerHash = content.providerHash
    }

    init(_ text: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
    }

    var text: String {
        get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
    }

    /// - Throws: ``StoreError/corrupt(table:column:)``.
    func stored(in owner: OwningUser) throws -> StoredContent {
        guard let checkSum = CheckSum(checkSum) else {
            throw StoreError.corrupt(table: "resumable_uploads", column: "content")
        }
        return StoredContent(
            owningUser: owner, checkSum: checkSum, sha256: sha256, sizeBytes: sizeBytes, objectID: objectID,
            objectRevision: objectRevision, providerHash: providerHash)
    }
}
