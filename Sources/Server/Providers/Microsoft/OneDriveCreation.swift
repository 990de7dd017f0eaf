import HTTPTransport
import HTTPTypes
import SyncProtocol

/// The requests that create an item in the app's folder, or start to create it.
///
/// A name conflict is a valid reply. If the app's folder does not exist, it is created, and the request is repeated
/// once.
struct OneDriveCreation {
    let access: StorageAccess
    /// The time limit of each step.
    let patience: Duration

    /// Requests an upload session ("driveItem: createUploadSession"). The size is documented for personal drives only;
    /// if a drive rejects it, the request is repeated without it.
    /// - Returns: the reply; its status may be 409 if the name is taken.
    func startSession(_ name: String, ofBytes lengthBytes: Int64) throws(CloudStorageError) -> Reply {
        do {
            return try create(Self.sessionRequest(name, bytes: lengthBytes))
        } catch {
            guard case .rejected(let code) = error, code.hasPrefix("400 ") else { throw error }
            return try create(Self.sessionRequest(name, bytes: nil))
        }
    }

    private func create(_ request: OutgoingRequest) throws(CloudStorageError) -> Reply {
        try create { client throws(CloudStorageError) in try client.send(request, by: .after(patience)) }
    }

    private static func sessionRequest(_ name: String, bytes: Int64?) throws(CloudStorageError) -> OutgoingRequest {
        var request = OutgoingRequest(
            .microsoft, .upload, .post, OneDrive.address(ofName: name) + ":/createUploadSession")
        request.headers[.contentType] = "application/json"
        request.body = .bytes(try ProviderJSON.encode(NewUploadSession(item: .init(name: name, fileSize: bytes)))[...])
        return request
    }

    /// - Parameter send: sends a request that creates an item.
    func create(
        _ send: (inout ProviderClient) throws(CloudStorageError) -> Reply
    ) throws(CloudStorageError) -> Reply {
        var client = ProviderClient(access) { reply in
            let verdict = GraphVerdict.classify(reply, accepting: [409])
            return switch verdict {
            case .failure(.rejected) where reply.status == 403: .answer
            case .failure(.notFound): .answer
            default: verdict
            }
        }
        let reply = try send(&client)
        guard reply.status == 403 || reply.status == 404 else { return reply }
        try AppFolder(access: access).fetch(by: .after(patience))
        let second = try send(&client)
        guard second.status == 403 || second.status == 404 else { return second }
        throw .rejected(code: "\(second.status) \(GraphVerdict.codes(second)?.last ?? "unknown")")
    }
}

/// An upload session as recorded between two requests.
struct OneDriveSavedSession: Codable {
    /// Secret: it authorizes its holder to write.
    var url: String
    /// The name that the item will have.
    var name: String
    /// In OneDrive's format; `nil` if it does not matter.
    var expirationDateTime: String?

    init(url: String, name: String, expirationDateTime: String? = nil) {
        self.url = url
        self.name = name
        self.expirationDateTime = expirationDateTime
    }

    init(_ text: String) throws(CloudStorageError) {
        self = try ProviderJSON.decode(Self.self, Array(text.utf8))
    }

    var text: String {
        get throws(CloudStorageError) { String(decoding: try ProviderJSON.encode(self), as: UTF8.self) }
    }

    var expires: WireDate? { expirationDateTime.flatMap(WireDate.init(internetText:)) }
}
