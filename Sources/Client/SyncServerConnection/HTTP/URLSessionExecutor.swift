import HTTPTypes

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Performs requests with `URLSession`: uploads from files, downloads to files. The implementation for apps on Apple's
/// platforms.
///
/// On Linux use ``CurlExecutor``: FoundationNetworking (Swift 6.3) keeps a processor busy while it waits, does not
/// return from some authentication challenges, and ends the process if a connection is closed within a reply's header
/// line. On Linux, this class exists only to test the behavior on Apple's platforms.
///
/// At most 6 short requests, and the configured number of transfers, are in progress at once; others wait for their
/// turn, which does not count towards any timeout.
///
/// Uses two sessions, so that an app can let its transfers continue in the background while short requests run only
/// while the app does. The sessions, and any tasks still in progress, end with the executor.
public final class URLSessionExecutor: HTTPExecutor {
    private let requests: URLSession
    private let transfers: URLSession
    private let tasks: TaskRegistry
    private let requestGate = AdmissionGate(6)
    private let transferGate: AdmissionGate

    /// The allowed number of concurrent transfers; by default, servers allow a user no more.
    public static let possibleTransfers = 1...32

    /// Creates the sessions.
    /// - Parameters:
    ///   - maximumTransfers: The maximum number of concurrent transfers; clamped to ``possibleTransfers``.
    ///   - requests: the configuration for requests with bodies in memory.
    ///   - transfers: the configuration for bodies in files; may be a background configuration where the system
    ///     supports these.
    ///   - unattended: receives transfers that an earlier process of the app has started; with a background
    ///     configuration only.
    public init(
        maximumTransfers: Int = 4,
        requests: URLSessionConfiguration = URLSessionExecutor.configuration(),
        transfers: URLSessionConfiguration = URLSessionExecutor.configuration(),
        unattended: UnattendedTransfers? = nil
    ) {
        let possible = Self.possibleTransfers
        transferGate = AdmissionGate(min(max(maximumTransfers, possible.lowerBound), possible.upperBound))
        tasks = TaskRegistry(unattended: unattended)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        self.requests = URLSession(configuration: requests, delegate: SessionDelegate(tasks), delegateQueue: queue)
        self.transfers = URLSession(configuration: transfers, delegate: SessionDelegate(tasks), delegateQueue: queue)
    }

    /// Creates the sessions for the permitted networks.
    public convenience init(maximumTransfers: Int = 4, network: NetworkPolicy) {
        self.init(
            maximumTransfers: maximumTransfers, requests: Self.configuration(network: network),
            transfers: Self.configuration(network: network))
    }

    deinit {
        requests.invalidateAndCancel()
        // Transfers that can continue without the app must do so.
        if tasks.unattended == nil { transfers.invalidateAndCancel() } else { transfers.finishTasksAndInvalidate() }
    }

    /// Background sessions accept only whole files; they continue without the app, which would have to supply the next
    /// part.
    public var sendsParts: Bool { transfers.configuration.identifier == nil }

    /// Replies are passed on while they arrive; not in background sessions, which have no requests in memory.
    public var streamsReplies: Bool { requests.configuration.identifier == nil }

    /// The labels of the transfers in progress, including those that an earlier process has started.
    public func labelsOfTransfers() async -> Set<String> {
        await withCheckedContinuation { continuation in
            transfers.getAllTasks { continuation.resume(returning: Set($0.compactMap(\.taskDescription))) }
        }
    }

    /// The configuration of both sessions unless an app supplies its own: no cookies, cache or stored credentials; a
    /// transfer may take 7 days in total.
    public static func configuration(network: NetworkPolicy = .any) -> URLSessionConfiguration {
        prepared(.ephemeral, network)
    }

    #if !canImport(FoundationNetworking)
        /// The configuration of a session for transfers that continue while the app does not run; otherwise like
        /// ``configuration(network:)``.
        /// - Parameters:
        ///   - identifier: Identifies the session to the system; one process at a time may use it.
        ///   - appGroup: The app group whose container holds the transferred files; for app extensions.
        ///   - network: The networks that transfers may use.
        public static func backgroundConfiguration(
            identifier: String, appGroup: String? = nil, network: NetworkPolicy = .any
        ) -> URLSessionConfiguration {
            let configuration = prepared(.background(withIdentifier: identifier), network)
            configuration.sharedContainerIdentifier = appGroup
            configuration.sessionSendsLaunchEvents = true
            return configuration
        }
    #endif

    private static func prepared(
        _ configuration: URLSessionConfiguration, _ network: NetworkPolicy
    ) -> URLSessionConfiguration {
        #if !canImport(FoundationNetworking)
            configuration.allowsCellularAccess = network.allowsCellular
            configuration.allowsExpensiveNetworkAccess = network.allowsExpensive
            configuration.allowsConstrainedNetworkAccess = network.allowsLowData
        #endif
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = 60
        configuration.timeoutIntervalForResource = 7 * 24 * 3_600
        // More than is ever needed; see AdmissionGate.
        configuration.httpMaximumConnectionsPerHost = 64
        return configuration
    }

    /// Sends a request; see ``HTTPExecutor/execute(_:progress:)``.
    public func execute(
        _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(TransportFailure) -> HTTPReply {
        let gate = exchange.arriving != nil ? nil : exchange.movesFile ? transferGate : requestGate
        if let gate, await !gate.enter() { throw TransportFailure(.cancelled) }
        defer { gate?.leave() }
        let task = try makeTask(exchange)
        task.taskDescription = exchange.label
        let tasks = tasks
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                tasks.add(
                    task,
                    RunningTask(
                        destination: exchange.destination,
                        partial: task is URLSessionDownloadTask ? nil : exchange.partial,
                        arriving: exchange.arriving, progress: progress, continuation: continuation))
                #if canImport(FoundationNetworking)
                    // Later than the session's own timeout.
                    tasks.watch(task, longestSilence: exchange.idleTimeout * 1.25)
                #endif
                task.resume()
                // The handler may have run before the task existed.
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    #if canImport(FoundationNetworking)
        /// The bytes of a file of at most 256 MiB; nil if it is larger.
        ///
        /// FoundationNetworking (Swift 6.3) reads a file concurrently with the transfer, and crashes the process if
        /// bytes of the file arrive after a transfer has ended, was refused or was cancelled
        /// (`EasyHandle.unpauseSend`). It does not crash with bytes in memory, at the cost of that memory.
        private static func bytes(of file: URL) -> Data? {
            let size = try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? NSNumber
            guard let size, size.intValue <= 256 << 20 else { return nil }
            return try? Data(contentsOf: file, options: .alwaysMapped)
        }
    #endif

    /// Bytes of a file; nil if it is shorter.
    private static func bytes(of file: URL, _ range: Range<Int64>) -> Data? {
        guard let handle = try? FileHandle(forReadingFrom: file) else { return nil }
        defer { try? handle.close() }
        guard (try? handle.seek(toOffset: UInt64(range.lowerBound))) != nil,
            let bytes = try? handle.read(upToCount: Int(range.upperBound - range.lowerBound)),
            bytes.count == range.count
        else { return nil }
        return bytes
    }

    private func makeTask(_ exchange: HTTPExchange) throws(TransportFailure) -> URLSessionTask {
        guard var request = URLRequest(exchange.request) else { throw TransportFailure(.malformed) }
        request.timeoutInterval = exchange.idleTimeout.seconds
        request.httpShouldHandleCookies = false
        switch exchange.body {
        case .file(let file):
            // Otherwise some systems send an empty body instead.
            guard FileManager.default.isReadableFile(atPath: file.path) else { throw TransportFailure(.fileUnreadable) }
            #if canImport(FoundationNetworking)
                if let bytes = Self.bytes(of: file) { return transfers.uploadTask(with: request, from: bytes) }
            #endif
            return transfers.uploadTask(with: request, fromFile: file)
        case .part(let file, let range):
            guard let bytes = Self.bytes(of: file, range) else { throw TransportFailure(.fileUnreadable) }
            return transfers.uploadTask(with: request, from: bytes)
        case .bytes(let data):
            request.httpBody = data
        case .none:
            if ![.get, .head].contains(exchange.request.method) { request.httpBody = Data() }
        }
        guard exchange.destination != nil else { return requests.dataTask(with: request) }
        // Background sessions do not support data tasks.
        guard exchange.partial != nil, transfers.configuration.identifier == nil else {
            return transfers.downloadTask(with: request)
        }
        return transfers.dataTask(with: request)
    }
}

extension URLRequest {
    /// The request without its body; nil if the URL is not an HTTP URL.
    fileprivate init?(_ request: HTTPRequest) {
        guard let scheme = request.scheme, let authority = request.authority,
            let url = URL(string: "\(scheme)://\(authority)\(request.path ?? "/")")
        else { return nil }
        self.init(url: url)
        httpMethod = request.method.rawValue
        for field in request.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    }
}

extension Duration {
    fileprivate var seconds: TimeInterval {
        TimeInterval(components.seconds) + TimeInterval(components.attoseconds) / 1e18
    }
}
