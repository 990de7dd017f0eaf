import HTTPTransport
import Providers
import Store
import SyncProtocol
import Vault

/// Streams a file's current version from its owner's storage to the phone.
///
/// Reads only, except that it stores a renewed token and the new location of an object that its owner has moved; may be
/// repeated.
struct DownloadFileEndpoint: TransferEndpoint {
    /// An object that is not found is looked up again if it is younger than this: providers are eventually consistent.
    private static let freshSeconds: Int64 = 3_600
    private static let secondLookPause: Duration = .seconds(2)

    func admit(_ request: DownloadFileRequest, from caller: GroupCaller, in context: RequestContext) throws {
        _ = try caller.member(of: request.sharingGroupUUID, in: context.store)
    }

    func respond(
        to request: DownloadFileRequest, from caller: GroupCaller, in context: RequestContext
    ) throws -> EndpointReply {
        let selection = try select(request, caller, context)
        guard case .file(let file, let member) = selection else {
            guard case .stale(let current) = selection else { throw EndpointError.fileUnknown }
            return .header(DownloadFileResponse.stale(current: current))
        }
        do {
            let storage = try context.storage(of: file.owningUser, for: member.user)
            let object = try locate(file, request, member, caller, storage, context)
            let contents = try PresentContents.determine(of: object, as: file, storage, context)
            let stream = DownloadStream(
                file: file, object: object, contents: contents, storage: storage, context: context)
            return try stream.run()
        } catch EndpointError.ownerRemoved {
            // If the owner left after the row was read, the phone must refresh.
            guard case .stale(let current) = try select(request, caller, context) else {
                throw EndpointError.ownerRemoved
            }
            return .header(DownloadFileResponse.stale(current: current))
        } catch CloudStorageError.notFound {
            return try gone(.fileRemovedOrRenamed, file, request, caller, context)
        } catch CloudStorageError.authorizationRevoked {
            return try gone(.authTokenExpiredOrRevoked, file, request, caller, context)
        }
    }

    private enum Selection {
        case stale(MasterVersion)
        case file(FileRecord, Member)
    }

    /// Finds the row and checks that it is what the phone requested.
    private func select(
        _ request: DownloadFileRequest, _ caller: GroupCaller, _ context: RequestContext
    ) throws -> Selection {
        try context.store.snapshot { session in
            let member = try caller.member(of: request.sharingGroupUUID, using: &session)
            guard member.masterVersion == request.masterVersion else { return .stale(member.masterVersion) }
            guard let file = try session.file(request.fileUUID, in: member.groupID) else {
                throw EndpointError.fileUnknown
            }
            guard !file.isDeleted else { throw EndpointError.fileDeleted }
            guard file.fileVersion == request.fileVersion else { throw EndpointError.fileVersionMismatch }
            guard file.appMetaDataVersion == request.appMetaDataVersion else {
                throw EndpointError.appMetaDataVersionMismatch
            }
            return .file(file, member)
        }
    }

    /// Finds the object by its identifier, retrying once if it is young, and then by its name; adopts the object if
    /// found.
    private func locate(
        _ file: FileRecord, _ request: DownloadFileRequest, _ member: Member, _ caller: GroupCaller,
        _ storage: UserStorage, _ context: RequestContext
    ) throws -> StoredObject {
        if let objectID = file.objectID {
            do {
                return try storage.provider.describe(objectID: objectID, in: storage.access)
            } catch .notFound {
                let age = context.now.secondsSince1970 - file.updatedAt.secondsSince1970
                if age < Self.freshSeconds, try !hasMovedOn(request, caller, context),
                    context.services.storage.backoff.pause(Self.secondLookPause, deadline: context.deadline)
                {
                    do { return try storage.provider.describe(objectID: objectID, in: storage.access) } catch .notFound
                    {}
                }
            }
        }
        let name = file.cloudName(context.services.settings.mimeTypes).rawValue
        guard let found = try storage.provider.find(name: name, in: storage.access) else {
            throw CloudStorageError.notFound
        }
        let isAdopted = try context.store.transaction { session in
            try session.adopt(
                objectID: found.objectID, revision: found.revision, as: file, in: member.groupID)
        }
        guard isAdopted else { throw CloudStorageError.notFound }
        return found
    }

    /// Reports why the bytes are not available; or, if a commit happened in between, that the phone must refresh.
    private func gone(
        _ reason: GoneReason, _ file: FileRecord, _ request: DownloadFileRequest, _ caller: GroupCaller,
        _ context: RequestContext
    ) throws -> EndpointReply {
        if case .stale(let current) = try select(request, caller, context) {
            return .header(DownloadFileResponse.stale(current: current))
        }
        return .header(
            DownloadFileResponse.gone(
                appMetaData: file.appMetaData, cloudStorageType: file.owningUser.storageType, reason: reason))
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
