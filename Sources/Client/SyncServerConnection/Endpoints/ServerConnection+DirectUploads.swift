import Foundation
import HTTPTypes
import SyncProtocol

extension DirectUpload {
    /// The size from which on an address is asked for; smaller files are faster through the server.
    static let smallestFileBytes: Int64 = 2 << 20

    /// The request that sends all bytes; nil if the address is of no use. It carries no credentials.
    fileprivate func request(schemes: Set<String>) -> HTTPRequest? {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme, schemes.contains(scheme),
            let authority = parts.authority
        else { return nil }
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        let method: HTTPRequest.Method =
            switch form {
            case .resumable: .put
            case .whole: .post
            case .fragments: .put
            }
        return HTTPRequest(
            method: method, scheme: scheme, authority: authority,
            path: (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath) + query,
            headerFields: [.contentType: contentType])
    }
}

// Bytes that go to the owner's storage by an address that the server has got for them (docs/protocol.md, section 8.29).
// Whatever goes wrong with that, the same upload takes them through the server.
extension ServerConnection {
    func mayUploadDirectly(in group: SharingGroupUUID) -> Bool {
        configuration.directUploads && !pieces.withoutDirectUploads.contains(group)
    }

    /// The size from which on files are not sent in one request to the server.
    func smallestFileBytes(in group: SharingGroupUUID) -> Int64 {
        mayUploadDirectly(in: group) ? DirectUpload.smallestFileBytes : PieceSupport.smallestFileBytes
    }

    /// Sends a file to the storage, and has the server verify it there.
    /// - Returns: nil if the bytes must go through the server, from the beginning on.
    /// - Throws: if the upload has ended, or the task was cancelled.
    func send<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, to direct: DirectUpload, _ uploadUUID: UploadUUID, _ lengthBytes: Int64
    ) async throws(ServerConnectionError) -> Outcome<Request.Done>? {
        // Only tests have a server, and so a storage, without TLS.
        let schemes: Set = ["https", configuration.baseURL.scheme ?? "https"]
        guard direct.expires.secondsSince1970 > Int64(environment.now().timeIntervalSince1970),
            let request = direct.request(schemes: schemes)
        else { return nil }
        let exchange = HTTPExchange(
            request: request, body: .file(upload.file), idleTimeout: configuration.idleTimeout)
        do throws(TransportFailure) {
            let reply = try await executor.execute(exchange, progress: upload.progress)
            guard reply.response.status.kind == .successful else { return nil }
        } catch {
            // Also a reply that was lost: the server finds out whether the storage has the bytes.
            guard error.kind != .cancelled else {
                throw ServerConnectionError(.cancelled, endpoint: .appendToUpload, isRetryable: true)
            }
            guard !error.kind.isBeforeSending else { return nil }
        }
        return try await confirm(upload, uploadUUID, lengthBytes)
    }

    /// Tells the server that the storage has all bytes.
    private func confirm<Request: PiecewiseRequest>(
        _ upload: PiecewiseUpload<Request>, _ uploadUUID: UploadUUID, _ lengthBytes: Int64
    ) async throws(ServerConnectionError) -> Outcome<Request.Done>? {
        let request = AppendToUploadRequest(
            uploadUUID, masterVersion: upload.request.presentMasterVersion, isDirect: true)
        let call = Self.appending(request, from: lengthBytes, isLast: true, repetition: .always)
        do throws(ServerConnectionError) {
            return try await perform(call) { reply throws(ServerConnectionError) in
                upload.request.outcome(of: try reply.message(of: .appendToUpload, as: AppendToUploadResponse.self))
            }
        } catch {
            if error.serverCode == .uploadOffsetMismatch || error.serverCode == .uploadConflict { return nil }
            throw error
        }
    }
}
