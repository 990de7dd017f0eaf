public import Foundation
import HTTPTypes
public import SyncProtocol

extension ServerConnection {
    /// One of the files of ``uploadSmallFiles(_:to:progress:)``.
    public struct SmallFileUpload: Sendable {
        /// The parameters, with the checksum of the contents.
        public var request: UploadFileRequest
        /// The contents.
        public var contents: Data

        /// Creates an upload.
        public init(_ request: UploadFileRequest, contents: Data) {
            self.request = request
            self.contents = contents
        }
    }

    /// Asks the server what one ``uploadSmallFiles(_:to:progress:)`` may contain.
    /// - Returns: Nil if the server does not offer it, or the executor sends every file separately, as in the
    ///   background.
    public func smallFileLimits() async throws(ServerConnectionError) -> SmallFileLimits? {
        guard executor.sendsParts else { return nil }
        return try await healthCheck().uploadSmallFiles
    }

    /// Stages many small files in one request. Each has the outcome or the error that
    /// ``uploadFile(_:from:label:progress:)`` would have; files that the server could not store at the time are sent
    /// again together, as far as the ``RetryPolicy`` allows.
    /// - Parameters:
    ///   - files: Within the server's limits (``smallFileLimits()``), each file once.
    ///   - group: The group of all files.
    ///   - progress: Called while the bytes are sent.
    /// - Returns: The results in the order of the files.
    /// - Throws: ``ServerConnectionError`` if the request as a whole failed. Some of the files may be staged.
    public func uploadSmallFiles(
        _ files: [SmallFileUpload], to group: SharingGroupUUID,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServerConnectionError) -> [Result<Outcome<StagedFile>, ServerConnectionError>] {
        var results: [Int: Result<Outcome<StagedFile>, ServerConnectionError>] = [:]
        var waiting = Array(files.indices)
        var decisions = AttemptDecisions(policy: configuration.retryPolicy, repetition: .always)
        while !waiting.isEmpty {
            let replies = try await send(waiting.map { files[$0] }, to: group, progress)
            var failed: [(index: Int, error: ServerConnectionError)] = []
            for (index, reply) in zip(waiting, replies) {
                do throws(ServerConnectionError) {
                    results[index] = .success(try await Self.uploadOutcome(of: reply))
                } catch {
                    results[index] = .failure(error)
                    if error.isRetryable { failed.append((index, error)) }
                }
            }
            let patient = failed.max { ($0.error.retryAfter ?? .zero) < ($1.error.retryAfter ?? .zero) }?.error
            guard let patient,
                case .retry(let delay) = decisions.decide(
                    after: patient, hasCredentials: true, wasSent: true, extensions: extensions,
                    fraction: environment.randomFraction())
            else { break }
            do { try await environment.sleep(delay) } catch { break }
            waiting = failed.map(\.index)
        }
        return files.indices.compactMap { results[$0] }
    }

    /// Sends a request.
    /// - Returns: The replies that UploadFile would have sent.
    private func send(
        _ files: [SmallFileUpload], to group: SharingGroupUUID, _ progress: (@Sendable (TransferProgress) -> Void)?
    ) async throws(ServerConnectionError) -> [HTTPReply] {
        let form = SmallFileForm(boundary: "sync-\(UUID().uuidString)")
        let list = files.map { SmallFile($0.request, sizeBytes: Int64($0.contents.count)) }
        var body = Data(form.head(list))
        for (index, file) in files.enumerated() {
            body.append(file.contents)
            body.append(contentsOf: index == files.count - 1 ? form.end : form.beginning)
        }
        var call = Call(UploadSmallFilesRequest(sharingGroupUUID: group), repetition: .always)
        call.body = .bytes(body)
        call.headers[.contentType] = form.contentType
        call.progress = progress
        return try await perform(call) { reply throws(ServerConnectionError) in
            let response = try reply.message(of: .uploadSmallFiles, as: UploadSmallFilesResponse.self)
            guard response.results.count == files.count else {
                throw ServerConnectionError(.invalidReply, endpoint: .uploadSmallFiles, detail: "results are missing")
            }
            return response.results.map { HTTPReply($0, in: reply) }
        }
    }
}

extension HTTPReply {
    /// The reply that UploadFile would have sent with a result.
    fileprivate init(_ result: UploadSmallFilesResponse.Result, in whole: HTTPReply) {
        var fields = HTTPFields()
        fields[ResponseHeader.serverVersion.fieldName] = whole.header(.serverVersion)
        switch result {
        case .message(let message):
            fields[ResponseHeader.messageParams.fieldName] = message.headerText
            self.init(response: HTTPResponse(status: .ok, headerFields: fields))
        case .refused(let error, let retryAfter):
            fields[ResponseHeader.errorCode.fieldName] = error.code
            fields[.retryAfter] = retryAfter.map(String.init)
            self.init(
                response: HTTPResponse(status: .init(code: error.status ?? 500), headerFields: fields),
                body: Data(error.body))
        }
    }
}
