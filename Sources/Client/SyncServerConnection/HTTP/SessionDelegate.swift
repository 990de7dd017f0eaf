import Foundation
import HTTPTypes
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A task in progress, and the caller that waits for it.
struct RunningTask {
    /// Maximum size of an error reply's body that is read from a file.
    static let maximumErrorBytes = 64 << 10

    let destination: URL?
    /// The destination of the body until it is complete.
    let partial: PartialDownload?
    /// Whether the body is the file's.
    var isFile = false
    /// Receives the body of a reply with the status 200 while it arrives.
    let arriving: (@Sendable (Data) -> Void)?
    let progress: (@Sendable (TransferProgress) -> Void)?
    /// Nil if an earlier process started the task.
    let continuation: CheckedContinuation<Result<HTTPReply, TransportFailure>, Never>?
    var body = Data()
    var fileLength: Int64?
    var failure: TransportFailure?
    var state = TransferProgress()
    /// The time of the session's last report about the task, or of its start.
    fileprivate(set) var lastEvent = ContinuousClock.now
    /// Ends the wait for a task about which the session stops reporting.
    fileprivate var watchdog: Task<Void, Never>?

    init(
        destination: URL?, partial: PartialDownload? = nil, arriving: (@Sendable (Data) -> Void)? = nil,
        progress: (@Sendable (TransferProgress) -> Void)?,
        continuation: CheckedContinuation<Result<HTTPReply, TransportFailure>, Never>?
    ) {
        self.destination = destination
        self.partial = partial
        self.arriving = arriving
        self.progress = progress
        self.continuation = continuation
    }

    /// The result for the waiting caller.
    func result(_ response: URLResponse?, _ error: (any Error)?) -> Result<HTTPReply, TransportFailure> {
        if let failure { return .failure(failure) }
        if let error { return .failure(TransportFailure(error)) }
        guard let response = response as? HTTPURLResponse else { return .failure(TransportFailure(.malformed)) }
        return .success(HTTPReply(response: HTTPResponse(response), body: body, fileLength: fileLength))
    }
}

/// The tasks in progress of both sessions.
final class TaskRegistry: Sendable {
    /// Receives transfers that no caller waits for; if nil, these are ignored.
    let unattended: UnattendedTransfers?
    private let tasks = Mutex([ObjectIdentifier: RunningTask]())

    init(unattended: UnattendedTransfers?) {
        self.unattended = unattended
    }

    func add(_ task: URLSessionTask, _ running: RunningTask) {
        tasks.withLock { $0[ObjectIdentifier(task)] = running }
    }

    /// Updates the record of a task; does nothing if the task is not of interest.
    func update<Result: Sendable>(_ task: URLSessionTask, _ body: (inout RunningTask) -> Result) -> Result? {
        let new = newUnattended()
        return tasks.withLock { tasks in
            guard var running = tasks.removeValue(forKey: ObjectIdentifier(task)) ?? new else { return nil }
            defer { tasks[ObjectIdentifier(task)] = running }
            running.lastEvent = .now
            return body(&running)
        }
    }

    func remove(_ task: URLSessionTask) -> RunningTask? {
        let running = tasks.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
        running?.watchdog?.cancel()
        return running ?? newUnattended()
    }

    /// Ends the wait for a task, with ``TransportFailure/Kind/timedOut``, once the session has reported nothing about
    /// it for `longestSilence`; later reports are ignored.
    ///
    /// FoundationNetworking (Swift 6.3) sometimes loses a task on a busy machine: the request has been sent, the
    /// connection is closed or the reply has arrived, but it reports neither the end nor a timeout.
    func watch(_ task: URLSessionTask, longestSilence: Duration) {
        let watchdog = Task { [weak self] in
            while let last = self?.lastEvent(of: task), !Task.isCancelled {
                let due = last + longestSilence
                if due <= .now {
                    self?.abandon(task)
                } else {
                    try? await Task.sleep(until: due)
                }
            }
        }
        tasks.withLock { $0[ObjectIdentifier(task)]?.watchdog = watchdog }
    }

    private func lastEvent(of task: URLSessionTask) -> ContinuousClock.Instant? {
        tasks.withLock { $0[ObjectIdentifier(task)]?.lastEvent }
    }

    private func abandon(_ task: URLSessionTask) {
        guard let running = tasks.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) else { return }
        task.cancel()
        running.partial?.end()
        running.continuation?.resume(returning: .failure(TransportFailure(.timedOut)))
    }

    /// The initial record of a task of an earlier process.
    private func newUnattended() -> RunningTask? {
        unattended.map { RunningTask(destination: $0.newFile(), progress: nil, continuation: nil) }
    }
}

/// Collects the session's reports about its tasks.
///
/// `URLSession` calls it on one queue, one call at a time.
final class SessionDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    private let tasks: TaskRegistry

    init(_ tasks: TaskRegistry) {
        self.tasks = tasks
    }

    /// The protocol has no redirects, and no other host may receive the credentials.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        report(task) { state in
            state.sentBytes = totalBytesSent
            state.totalBytes = totalBytesExpectedToSend > 0 ? totalBytesExpectedToSend : nil
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let partial = tasks.update(dataTask, { $0.partial }) ?? nil, let response = response as? HTTPURLResponse {
            let length = response.expectedContentLength
            let begun = Result { try partial.begin(HTTPResponse(response)) }
            tasks.update(dataTask) { running in
                switch begun {
                case .success(let isFile):
                    running.isFile = isFile
                    running.state.receivedBytes = partial.receivedBytes
                    if length > 0 { running.state.totalBytes = partial.receivedBytes + length }
                case .failure(let error): running.failure = TransportFailure(storing: error)
                }
            }
            if case .failure = begun { return completionHandler(.cancel) }
        }
        completionHandler(.allow)
    }

    /// Writes bytes of a file.
    private func store(_ data: Data, in partial: PartialDownload, for task: URLSessionTask) {
        do {
            try partial.append(data)
            report(task) { $0.receivedBytes = partial.receivedBytes }
        } catch {
            tasks.update(task) { $0.failure = TransportFailure(storing: error) }
            task.cancel()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if let partial = tasks.update(dataTask, { $0.isFile ? $0.partial : nil }) ?? nil {
            return store(data, in: partial, for: dataTask)
        }
        if let arriving = tasks.update(dataTask, { $0.arriving }) ?? nil,
            (dataTask.response as? HTTPURLResponse)?.statusCode == 200
        {
            return arriving(data)
        }
        let isTooLong = tasks.update(dataTask) { running in
            running.body.append(data)
            guard running.body.count > HTTPReply.maximumBodyBytes else { return false }
            running.body = Data()
            running.failure = TransportFailure(.malformed)
            return true
        }
        if isTooLong == true { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        report(downloadTask) { state in
            state.receivedBytes = totalBytesWritten
            state.totalBytes = totalBytesExpectedToWrite > 0 ? totalBytesExpectedToWrite : nil
        }
    }

    /// The system removes the file at `location` after this call.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        guard let destination = tasks.update(downloadTask, { $0.destination }) ?? nil else { return }
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode
        // 206: the system has resumed the download by itself, and the file is complete.
        if status == 200 || status == 206 {
            let moved = Result { try FileManager.default.replace(destination, with: location) }
            tasks.update(downloadTask) { running in
                switch moved {
                case .success(let length): running.fileLength = length
                case .failure(let error): running.failure = TransportFailure(.fileUnwritable, underlying: error)
                }
            }
        } else if let body = try? Self.beginning(of: location) {
            tasks.update(downloadTask) { $0.body = body }
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard var running = tasks.remove(task) else { return }
        running.partial?.end()
        if running.isFile, error == nil, let partial = running.partial, let destination = running.destination {
            do {
                running.fileLength = try FileManager.default.replace(destination, with: partial.file)
                partial.complete()
            } catch {
                running.failure = TransportFailure(.fileUnwritable, underlying: error)
            }
        }
        let result = running.result(task.response, error)
        if let continuation = running.continuation {
            continuation.resume(returning: result)
        } else {
            let file = running.fileLength == nil ? nil : running.destination
            tasks.unattended?.ended(UnattendedTransfer(label: task.taskDescription, result: result, file: file))
        }
    }

    #if !canImport(FoundationNetworking)
        /// The system waits until the app confirms that it has processed all events.
        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            tasks.unattended?.allReported()
        }
    #endif

    private func report(_ task: URLSessionTask, _ change: (inout TransferProgress) -> Void) {
        let report = tasks.update(task) { running in
            change(&running.state)
            return (running.progress, running.state)
        }
        if let report { report.0?(report.1) }
    }

    private static func beginning(of file: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        return try handle.read(upToCount: RunningTask.maximumErrorBytes) ?? Data()
    }
}

extension HTTPResponse {
    /// Status and headers of a reply; headers with names or values that HTTP does not allow are omitted.
    init(_ response: HTTPURLResponse) {
        var fields = HTTPFields()
        for (name, value) in response.allHeaderFields {
            guard let name = (name as? String).flatMap({ HTTPField.Name($0) }), let value = value as? String else {
                continue
            }
            fields.append(HTTPField(name: name, value: value))
        }
        self.init(status: .init(code: response.statusCode), headerFields: fields)
    }
}

extension TransportFailure {
    /// Classifies the errors of `URLSession` (URLError.Code in Apple's documentation of Foundation).
    init(_ error: any Error) {
        let kind: Kind =
            switch (error as? URLError)?.code {
            case .cancelled: .cancelled
            case .timedOut: .timedOut
            case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .dataNotAllowed,
                .internationalRoamingOff, .callIsActive:
                .notConnected
            case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
                .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
                .untrusted
            case .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile: .fileUnreadable
            case .cannotCreateFile, .cannotOpenFile, .cannotWriteToFile, .cannotMoveFile, .cannotCloseFile,
                .cannotRemoveFile, .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete:
                .fileUnwritable
            case .badURL, .unsupportedURL, .cannotParseResponse, .cannotDecodeContentData,
                .cannotDecodeRawData, .dataLengthExceedsMaximum, .httpTooManyRedirects,
                .redirectToNonExistentLocation:
                .malformed
            default: .interrupted
            }
        #if canImport(FoundationNetworking)
            // Foundation has no error code for certificates that libcurl rejects (CURLE_PEER_FAILED_VERIFICATION).
            if kind == .interrupted, String(reflecting: error).contains("SSL certificate problem") {
                self.init(.untrusted, underlying: Self.withoutAddress(error))
                return
            }
        #endif
        self.init(kind, underlying: Self.withoutAddress(error))
    }

    /// The error without the URL, whose query may contain data that must not be logged.
    private static func withoutAddress(_ error: any Error) -> any Error {
        let error = error as NSError
        return NSError(
            domain: error.domain, code: error.code,
            userInfo: [NSLocalizedDescriptionKey: error.localizedDescription])
    }
}
