import HTTPTransport
import Logging
import Providers
import Store
import SyncProtocol
import Vault

/// Streams a file's current version, or a part of it, from its owner's storage to the phone.
///
/// A request that continues a download (``DownloadConditions/resumes``) is served even if the group's version has
/// advanced, as long as the object exists.
///
/// Reads only, except that it records a renewed token, the new location of an object that its owner has moved, and
/// missing contents; may be repeated.
struct DownloadFileEndpoint: TransferEndpoint {
    /// A missing object younger than this is looked up again, since providers are eventually consistent.
    private static let freshSeconds: Int64 = 3_600
    private static let secondLookPause: Duration = .seconds(2)

    func admit(_ request: DownloadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    func respond(
        to request: DownloadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        context.mayOmitAppMetaData = request.mayOmitAppMetaData
        let conditions = DownloadConditions(context.head)
        let file: FileRecord
        let member: Member
        switch try select(request, caller, context) {
        case .file(let current, let caller): (file, member) = (current, caller)
        case .stale(let current):
            return try resume(request, conditions, caller, context)
                ?? .header(DownloadFileResponse.stale(current: current))
        }
        switch file.contentState {
        case .stored: break
        case .awaiting:
            let elsewhere = FormerStorageDownload(
                file: file, groupID: member.groupID, conditions: conditions, context: context)
            if let reply = try elsewhere.run() { return reply }
            return .header(
                DownloadFileResponse.gone(
                    appMetaData: context.headerMetaData(of: file), cloudStorageType: file.owningUser.storageType,
                    reason: .authTokenExpiredOrRevoked, detail: .awaitingReupload))
        case .missing: return try gone(.fileRemovedOrRenamed, file, member, request, caller, context)
        }
        do {
            let storage = try context.storage(of: file.owningUser, for: member.user)
            let addresses = addresses(for: request, storage, context)
            let description =
                conditions.isAbsent && addresses == nil ? describe(file, in: storage, context) : nil
            if let description, let objectID = file.objectID,
                let reply = try EagerDownload(
                    file: file, objectID: objectID, storage: storage, description: description, context: context
                ).run()
            {
                return reply
            }
            let object = try locate(file, description, request, member, caller, storage, context)
            let contents = try PresentContents.determine(of: object, as: file, storage, context)
            if conditions.isMet(by: contents.tag) {
                context.replyHeaders += DownloadStream.headers(for: contents.tag)
                return .notModified
            }
            if let addresses {
                return try refer(to: object, contents, as: file, addresses, storage, context)
            }
            return try send(object, contents, as: file, conditions, storage, context)
        } catch Refusal(.ownerRemoved) {
            // If the owner left after the row was read, the phone must refresh.
            guard case .stale(let current) = try select(request, caller, context) else {
                throw Refusal(.ownerRemoved)
            }
            return .header(DownloadFileResponse.stale(current: current))
        } catch CloudStorageError.notFound {
            return try gone(.fileRemovedOrRenamed, file, member, request, caller, context)
        } catch CloudStorageError.authorizationRevoked {
            return try gone(.authTokenExpiredOrRevoked, file, member, request, caller, context)
        }
    }

    /// Creates an address from which the client reads the bytes directly; `nil` if the server sends them.
    private func addresses(
        for request: DownloadFileRequest, _ storage: UserStorage, _ context: RequestContext
    ) -> (any DirectDownloads)? {
        guard request.isDirect, context.services.settings.allowsDirectTransfers else { return nil }
        return storage.provider as? any DirectDownloads
    }

    /// Starts requesting the description of a file's object; `nil` if no concurrent request is possible, or if the
    /// description alone may not determine the checksum.
    private func describe(
        _ file: FileRecord, in storage: UserStorage, _ context: RequestContext
    ) -> PendingDescription? {
        guard let objectID = file.objectID, file.owningUser.storageType.traits.reportsCheckSum else { return nil }
        return try? PendingDescription(of: objectID, in: storage, on: context.services.background)
    }

    /// Continues a download that began at an earlier master version of the group: of the file's current version, or of
    /// one whose object awaits deletion.
    /// - Returns: `nil` if the request does not continue a download, or if these bytes no longer exist.
    private func resume(
        _ request: DownloadFileRequest, _ conditions: DownloadConditions, _ caller: GroupCaller,
        _ context: RequestContext
    ) throws -> EndpointReply? {
        guard conditions.resumes else { return nil }
        let begun: (file: FileRecord, member: Member)? = try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            guard let current = try session.file(request.fileUUID, in: member.groupID), !current.isDeleted else {
                return nil
            }
            if current.fileVersion == request.fileVersion { return (current, member) }
            return try session.replacedVersion(request.fileVersion, of: current, in: member.groupID)
                .map { ($0, member) }
        }
        guard let begun, let objectID = begun.file.objectID else { return nil }
        let member = begun.member
        var file = begun.file
        // The client has the metadata from its first request.
        if file.appMetaDataVersion != request.appMetaDataVersion { file.appMetaData = nil }
        do {
            let storage = try context.storage(of: file.owningUser, for: member.user)
            // The provider handles ranges in that case.
            guard addresses(for: request, storage, context) == nil else { return nil }
            let object = try storage.provider.describe(objectID: objectID, in: storage.access)
            let contents = try PresentContents.determine(of: object, as: file, storage, context)
            guard conditions.resumes(contents.tag) else { return nil }
            return try send(object, contents, as: file, conditions, storage, context)
        } catch Refusal(.ownerRemoved) {
            return nil
        } catch CloudStorageError.notFound {
            return nil
        } catch CloudStorageError.authorizationRevoked {
            return nil
        }
    }

    /// Sends the client an address to read the bytes directly. The client verifies them, since the server does not see
    /// them.
    private func refer(
        to object: StoredObject, _ contents: PresentContents, as file: FileRecord, _ addresses: any DirectDownloads,
        _ storage: UserStorage, _ context: RequestContext
    ) throws -> EndpointReply {
        let address = try addresses.downloadAddress(of: object.objectID, in: storage.access)
        let until = WireDate(secondsSince1970: context.now.secondsSince1970 + address.lifetimeSeconds)
        context.replyHeaders += DownloadStream.headers(for: contents.tag)
        return .header(
            DownloadFileResponse.elsewhere(
                DirectDownload(url: address.url, expires: until), appMetaData: context.headerMetaData(of: file),
                cloudStorageType: file.owningUser.storageType, checkSum: contents.checkSum,
                contentsChanged: contents.hasChanged))
    }

    private func send(
        _ object: StoredObject, _ contents: PresentContents, as file: FileRecord, _ conditions: DownloadConditions,
        _ storage: UserStorage, _ context: RequestContext
    ) throws -> EndpointReply {
        let positions = try conditions.positions(of: contents.tag, length: contents.sizeBytes)
        let stream = DownloadStream(
            positions, of: file, object: object, contents: contents, storage: storage, context: context)
        return try stream.run()
    }

    private enum Selection {
        case stale(MasterVersion)
        case file(FileRecord, Member)
    }

    /// Finds the row and checks that it matches the request.
    private func select(
        _ request: DownloadFileRequest, _ caller: GroupCaller, _ context: RequestContext
    ) throws -> Selection {
        try context.store.withSession { session in
            let (member, found) = try caller.member(
                of: request.sharingGroupUUID, with: request.fileUUID, using: &session)
            guard member.masterVersion == request.masterVersion else { return .stale(member.masterVersion) }
            guard let file = found else { throw Refusal(.fileUnknown) }
            guard !file.isDeleted else { throw Refusal(.fileDeleted) }
            guard file.fileVersion == request.fileVersion else { throw Refusal(.fileVersionMismatch) }
            guard file.appMetaDataVersion == request.appMetaDataVersion else {
                throw Refusal(.appMetaDataVersionMismatch)
            }
            return .file(file, member)
        }
    }

    /// Finds the object by its identifier, retrying once if it is young, and then by its name; adopts the object if
    /// found.
    /// - Parameter description: if already requested.
    private func locate(
        _ file: FileRecord, _ description: PendingDescription?, _ request: DownloadFileRequest, _ member: Member,
        _ caller: GroupCaller,
        _ storage: UserStorage, _ context: RequestContext
    ) throws -> StoredObject {
        if let objectID = file.objectID {
            do {
                return try self.description(of: objectID, description, storage)
            } catch CloudStorageError.notFound {
                let age = context.now.secondsSince1970 - file.updatedAt.secondsSince1970
                if age < Self.freshSeconds, try !hasMovedOn(request, caller, context),
                    context.services.storage.backoff.pause(Self.secondLookPause, deadline: context.deadline)
                {
                    do { return try storage.provider.describe(objectID: objectID, in: storage.access) } catch .notFound
                    {}
                }
            }
        }
        var found: StoredObject?
        for name in file.cloudNames where found == nil {
            found = try storage.provider.find(name: name.rawValue, in: storage.access)
        }
        guard let found else { throw CloudStorageError.notFound }
        let isAdopted = try context.store.transaction { session in
            try session.adopt(
                objectID: found.objectID, revision: found.adoptedRevision, as: file, in: member.groupID)
        }
        guard isAdopted else { throw CloudStorageError.notFound }
        return found
    }

    /// - Parameter pending: if already requested; if that call was not made, it is made now.
    private func description(
        of objectID: String, _ pending: PendingDescription?, _ storage: UserStorage
    ) throws(CloudStorageError) -> StoredObject {
        switch pending?.outcome() {
        case .success(let object): return object
        case .failure(.withheld), nil: return try storage.provider.describe(objectID: objectID, in: storage.access)
        case .failure(let error): throw error
        }
    }

    /// Reports why the bytes are unavailable, and records that reply for the operator; if a commit happened in between,
    /// the reply says that the phone must refresh.
    private func gone(
        _ reason: GoneReason, _ file: FileRecord, _ member: Member, _ request: DownloadFileRequest,
        _ caller: GroupCaller, _ context: RequestContext
    ) throws -> EndpointReply {
        if case .stale(let current) = try select(request, caller, context) {
            return .header(DownloadFileResponse.stale(current: current))
        }
        do {
            try context.store.transaction { try $0.noteGone(reason, file, in: member.groupID, at: context.now) }
        } catch {
            // The phone still gets the reply.
            context.logger.warning(
                "Could not record the reply sent to the client",
                metadata: .keyed([.reason: "\(String(reflecting: error))"]))
        }
        return .header(
            DownloadFileResponse.gone(
                appMetaData: context.headerMetaData(of: file), cloudStorageType: file.owningUser.storageType,
                reason: reason))
    }

    private func hasMovedOn(
        _ request: DownloadFileRequest, _ caller: GroupCaller, _ context: RequestContext
    ) throws -> Bool {
        guard case .stale = try select(request, caller, context) else { return false }
        return true
    }
}

extension DownloadFileRequest: AdmittedRequest {
    typealias Handler = DownloadFileEndpoint
}

/// A download of a whole object that requests the bytes while the object's description is still pending, so that the
/// phone waits for one reply of the provider instead of two.
///
/// No bytes are passed on before the description arrives, since it determines the checksum to announce.
struct EagerDownload {
    let file: FileRecord
    let objectID: String
    let storage: UserStorage
    let description: PendingDescription
    let context: RequestContext

    /// The description does not identify the contents.
    private struct NotDescribed: Error {}

    /// - Returns: `nil` if nothing has been sent to the phone, because the object was not found or its description is
    ///   missing.
    func run() throws -> EndpointReply? {
        var stream: DownloadStream?
        var obstacle: (any Error)?
        do {
            try storage.provider.download(
                objectID: objectID, from: storage.access,
                begin: { length in
                    do { stream = try self.stream() } catch { obstacle = error }
                    stream?.begin(length)
                },
                receive: { bytes in stream?.receive(bytes) ?? false })
        } catch {
            try stream?.failed(error)
            // A missing object may be found in another way, and a withheld call may be made later.
            switch error {
            case .notFound, .withheld: return nil
            default: break
            }
            obstacle = obstacle ?? error
        }
        // A failed description takes precedence.
        guard case .success = description.outcome() else { return nil }
        if obstacle is NotDescribed { return nil }
        if let obstacle { throw obstacle }
        return try stream?.end()
    }

    private func stream() throws -> DownloadStream {
        let object = try description.outcome().get()
        // If the object must be read to know its contents, that happens before any byte is passed on.
        guard let contents = PresentContents.described(by: object, as: file) else { throw NotDescribed() }
        return DownloadStream(nil, of: file, object: object, contents: contents, storage: storage, context: context)
    }
}

/// The provider's description of an object, requested on another thread while this one requests the object's bytes.
typealias PendingDescription = PendingCall<Result<StoredObject, CloudStorageError>>

extension PendingDescription {
    /// Starts the request.
    /// - Parameter storage: that of the owner's current account; shared with the caller.
    /// - Throws: what `background` throws if no further thread is available.
    convenience init(of objectID: String, in storage: UserStorage, on background: Background) throws {
        let passed = PassedToThread(storage)
        try self.init(on: background) {
            passed.value.join()
            return Result { () throws(CloudStorageError) in
                try passed.value.provider.describe(objectID: objectID, in: passed.value.access)
            }
        }
    }
}

/// A download of a file that waits for its bytes, from its owner's former account, while the server is moving contents
/// out of that account.
///
/// Only bytes proved to be the version's are sent, with the checksum and the storage type of that account; nothing is
/// stored except a renewed token.
struct FormerStorageDownload {
    let file: FileRecord
    let groupID: SharingGroupID
    let conditions: DownloadConditions
    let context: RequestContext

    /// - Returns: `nil` if the bytes are not available there; for the phone, the file continues to wait.
    /// - Throws: errors that end a reply that has begun, ``ClientGone``, ``StoreError``.
    func run() throws -> EndpointReply? {
        guard let (move, former) = try context.store.withSession({ try $0.movingContent(of: file, in: groupID) }),
            let objectID = former.objectID
        else { return nil }
        do {
            let storage = try context.services.storage.storage(
                of: move.former, account: .former(move), transport: context.transport, deadline: context.deadline,
                logger: context.logger)
            let object = try storage.provider.describe(objectID: objectID, in: storage.access)
            guard let contents = PresentContents.unchanged(of: object, as: former) else { return nil }
            if conditions.isMet(by: contents.tag) {
                context.replyHeaders += DownloadStream.headers(for: contents.tag)
                return .notModified
            }
            let positions = try conditions.positions(of: contents.tag, length: contents.sizeBytes)
            return try DownloadStream(
                positions, of: former, object: object, contents: contents, storage: storage, context: context
            ).run()
        } catch let error as CloudStorageError {
            context.logger.info(
                "Could not read a waiting file from the former account", metadata: .keyed([.reason: "\(error)"]))
            return nil
        }
    }
}
