import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Streams a file's current version from its owner's storage to the phone.
///
/// Reads only, apart from a renewed token and the whereabouts of an object that its owner has moved; may be repeated.
struct DownloadFileEndpoint: TransferEndpoint {
    /// An object that is not found is looked for again if it is younger than this: providers need time to agree.
    private static let freshSeconds: Int64 = 3_600
    private static let secondLookPause: Duration = .seconds(2)

    func admit(_ request: DownloadFileRequest, in context: RequestContext) throws {
        _ = try context.membership(in: request.sharingGroupUUID, needing: .read)
    }

    func respond(to request: DownloadFileRequest, in context: RequestContext) throws -> EndpointReply {
        let selection = try select(request, in: context)
        guard case .file(let file, let group) = selection else {
            guard case .stale(let current) = selection else { throw EndpointError.fileUnknown }
            return .header(DownloadFileResponse.stale(current: current))
        }
        do {
            let storage = try context.storage(of: file.owningUser)
            let object = try locate(file, group, request, storage, context)
            return try DownloadStream(file: file, object: object, storage: storage, context: context).run()
        } catch EndpointError.ownerRemoved {
            // If they left after the row was read, the phone must look again.
            guard case .stale(let current) = try select(request, in: context) else { throw EndpointError.ownerRemoved }
            return .header(DownloadFileResponse.stale(current: current))
        } catch CloudStorageError.notFound {
            return try gone(.fileRemovedOrRenamed, file, request, context)
        } catch CloudStorageError.authorizationRevoked {
            return try gone(.authTokenExpiredOrRevoked, file, request, context)
        }
    }

    private enum Selection {
        case stale(MasterVersion)
        case file(FileRecord, Membership)
    }

    /// Finds the row and checks that it is what the phone asked for.
    private func select(_ request: DownloadFileRequest, in context: RequestContext) throws -> Selection {
        try context.store.snapshot { session in
            let membership = try context.membership(
                in: request.sharingGroupUUID, needing: .read, using: &session)
            guard membership.masterVersion == request.masterVersion else { return .stale(membership.masterVersion) }
            guard let file = try session.file(request.fileUUID, in: membership.groupID) else {
                throw EndpointError.fileUnknown
            }
            guard !file.isDeleted else { throw EndpointError.fileDeleted }
            guard file.fileVersion == request.fileVersion else { throw EndpointError.fileVersionMismatch }
            guard file.appMetaDataVersion == request.appMetaDataVersion else {
                throw EndpointError.appMetaDataVersionMismatch
            }
            return .file(file, membership)
        }
    }

    /// Finds the object by its identifier, a second time if it is young, and once by its name, adopting what is found.
    private func locate(
        _ file: FileRecord, _ group: Membership, _ request: DownloadFileRequest, _ storage: UserStorage,
        _ context: RequestContext
    ) throws -> StoredObject {
        if let objectID = file.objectID {
            do {
                return try storage.provider.describe(objectID: objectID, in: storage.access)
            } catch .notFound {
                let age = context.now.secondsSince1970 - file.updatedAt.secondsSince1970
                if age < Self.freshSeconds, try !hasMovedOn(request, context),
                    context.services.storage.backoff.pause(Self.secondLookPause, deadline: context.deadline)
                {
                    do { return try storage.provider.describe(objectID: objectID, in: storage.access) } catch .notFound
                    {}
                }
            }
        }
        guard let found = try storage.provider.find(name: name(of: file, context), in: storage.access) else {
            throw CloudStorageError.notFound
        }
        let isAdopted = try context.store.transaction { session in
            try session.adopt(
                objectID: found.objectID, revision: found.revision, as: file, in: group.groupID)
        }
        guard isAdopted else { throw CloudStorageError.notFound }
        return found
    }

    /// The object's name in storage; an older server may have stored types that this one does not accept.
    private func name(of file: FileRecord, _ context: RequestContext) -> String {
        guard let fileExtension = context.services.settings.mimeTypes.fileExtension(for: file.mimeType) else {
            return file.nameByOlderServer.rawValue
        }
        return CloudFileName(
            fileUUID: file.fileUUID, deviceUUID: file.deviceUUID, fileVersion: file.fileVersion,
            fileExtension: fileExtension
        ).rawValue
    }

    /// Says why there are no bytes; or, if a commit got in between, that the phone must look again.
    private func gone(
        _ reason: GoneReason, _ file: FileRecord, _ request: DownloadFileRequest, _ context: RequestContext
    ) throws -> EndpointReply {
        if case .stale(let current) = try select(request, in: context) {
            return .header(DownloadFileResponse.stale(current: current))
        }
        return .header(
            DownloadFileResponse.gone(
                appMetaData: file.appMetaData, cloudStorageType: file.owningUser.storageType, reason: reason))
    }

    private func hasMovedOn(_ request: DownloadFileRequest, _ context: RequestContext) throws -> Bool {
        guard case .stale = try select(request, in: context) else { return false }
        return true
    }
}
