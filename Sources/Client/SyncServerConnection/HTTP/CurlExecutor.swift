#if os(Linux)
    import Curl
    public import Foundation
    import HTTPTypes
    import Synchronization

    /// Performs requests with libcurl: uploads from files, downloads to files. The implementation for apps on Linux
    /// (docs/adr/0092-libcurl-on-linux.md).
    ///
    /// At most 6 short requests, and the configured number of transfers, are in progress at once; others wait for their
    /// turn, which does not count towards any timeout. All of them share one thread, which sleeps while nothing
    /// arrives, and ends half a minute after the last exchange.
    ///
    /// A request ends after a bounded time, regardless of the server's behavior:
    /// - name lookup, TCP and TLS together complete within 30 s (``longestConnecting``) or the exchange's idle timeout,
    ///   whichever is shorter; otherwise the failure is ``TransportFailure/Kind/notConnected``;
    /// - the network accepts bytes of the request's body at least once in each idle timeout;
    /// - the head of the reply is complete one idle timeout after the last bytes were accepted, regardless of other
    ///   data;
    /// - bytes of the reply's body arrive at least once in each idle timeout;
    /// - everything together takes at most 7 days.
    ///
    /// A request to a server that accepts connections and never answers therefore ends after one idle timeout.
    /// Cancellation takes effect within milliseconds, even during a name lookup or while connecting.
    ///
    /// Short requests use HTTP/2 if the server offers it. Files are sent and received with HTTP/1.1, each on a separate
    /// connection, so that an early refusal arrives through all common proxies. Proxies of the environment are used
    /// (`https_proxy`, `no_proxy`).
    ///
    /// A reply in memory has at most 256 MiB; its headers have at most 256 KiB in total, and 100 KiB each. The executor
    /// never repeats a request other than GET and HEAD.
    public final class CurlExecutor: HTTPExecutor {
        private let loop: TransferLoop
        private let caFile: String?
        private let maximumBodyBytes: Int
        private let requestGate = AdmissionGate(6)
        private let transferGate: AdmissionGate

        /// The allowed number of concurrent transfers; by default, servers allow a user no more.
        public static let possibleTransfers = 1...32
        /// The maximum time for name lookup, TCP and TLS together.
        public static let longestConnecting: Duration = .seconds(30)

        /// Creates an executor, without a connection yet.
        /// - Parameters:
        ///   - maximumTransfers: The maximum number of concurrent transfers; clamped to ``possibleTransfers``.
        ///   - certificateAuthorities: A PEM file of the authorities to trust. Nil: those in the file that the
        ///     environment variable `SSL_CERT_FILE` names, as for OpenSSL's programs; without it the system's.
        public convenience init(maximumTransfers: Int = 4, certificateAuthorities: URL? = nil) {
            self.init(
                maximumTransfers: maximumTransfers, certificateAuthorities: certificateAuthorities,
                maximumBodyBytes: HTTPReply.maximumBodyBytes)
        }

        /// Creates an executor; on Linux every network is permitted.
        public convenience init(maximumTransfers: Int = 4, network: NetworkPolicy) {
            self.init(maximumTransfers: maximumTransfers)
        }

        package init(maximumTransfers: Int = 4, certificateAuthorities: URL? = nil, maximumBodyBytes: Int) {
            let possible = Self.possibleTransfers
            let transfers = min(max(maximumTransfers, possible.lowerBound), possible.upperBound)
            transferGate = AdmissionGate(transfers)
            loop = TransferLoop(maximumConnections: transfers + 6)
            caFile = certificateAuthorities?.path ?? ProcessInfo.processInfo.environment["SSL_CERT_FILE"]
            self.maximumBodyBytes = maximumBodyBytes
        }

        /// Files are sent in parts as well.
        public var sendsParts: Bool { true }
        /// Replies are passed on while they arrive.
        public var streamsReplies: Bool { true }

        /// Sends a request; see ``HTTPExecutor/execute(_:progress:)``.
        public func execute(
            _ exchange: HTTPExchange, progress: (@Sendable (TransferProgress) -> Void)? = nil
        ) async throws(TransportFailure) -> HTTPReply {
            let gate = exchange.arriving != nil ? nil : exchange.movesFile ? transferGate : requestGate
            if let gate, await !gate.enter() { throw TransportFailure(.cancelled) }
            defer { gate?.leave() }
            let transfer = try transfer(exchange)
            let reception = Reception(exchange, transfer.lengthBytes, maximumBodyBytes: maximumBodyBytes, progress)
            let loop = loop
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    reception.report(to: continuation)
                    loop.start(transfer, reception)
                    // The handler may have run before the transfer existed.
                    if Task.isCancelled { reception.cancel(in: loop) }
                }
            } onCancel: {
                reception.cancel(in: loop)
            }
            return try result.get()
        }

        /// Headers that the body determines.
        private static let framing: Set<HTTPField.Name> = [.contentLength, .transferEncoding]

        private func transfer(_ exchange: HTTPExchange) throws(TransportFailure) -> Transfer {
            guard let scheme = exchange.request.scheme, scheme == "https" || scheme == "http",
                let authority = exchange.request.authority
            else { throw TransportFailure(.malformed) }
            var request = Request(
                method: exchange.request.method.rawValue,
                url: "\(scheme)://\(authority)\(exchange.request.path ?? "/")",
                headers: exchange.request.headerFields.filter { !Self.framing.contains($0.name) }
                    .map { ($0.name.rawName, $0.value) })
            request.body = try Self.body(exchange.body, patience: exchange.idleTimeout)
            request.httpVersion = exchange.movesFile ? .http11 : .http2
            request.connectTimeout = min(exchange.idleTimeout, Self.longestConnecting)
            request.totalTimeout = .seconds(7 * 24 * 3_600)
            request.uploadBufferBytes = 256 << 10
            request.usesEnvironmentProxy = true
            request.acceptsCompression = exchange.destination == nil && exchange.arriving == nil
            return Transfer(
                request, idleTimeout: exchange.idleTimeout, caFile: caFile, allowsPlainHTTP: true,
                mayBeSentTwice: [.get, .head].contains(exchange.request.method))
        }

        private static func body(
            _ body: HTTPExchange.Body, patience: Duration
        ) throws(TransportFailure) -> Request.Body {
            var file: ArrivingBody?
            switch body {
            // Sends a length of 0 if the method allows a body.
            case .none: return .bytes([])
            case .bytes(let data): return .bytes([UInt8](data))
            case .file(let url): file = ArrivingBody(file: url.path, patience: patience)
            case .part(let url, let range):
                guard let lowerBound = Int(exactly: range.lowerBound), let upperBound = Int(exactly: range.upperBound)
                else { break }
                file = ArrivingBody(file: url.path, lowerBound..<upperBound, patience: patience)
            }
            guard let file else { throw TransportFailure(.fileUnreadable) }
            return .arriving(file)
        }
    }

    extension Transfer {
        /// The number of bytes of the request's body.
        fileprivate var lengthBytes: Int64 {
            switch request.body {
            case .none: 0
            case .bytes(let bytes): Int64(bytes.count)
            case .arriving(let body): Int64(body.lengthBytes)
            }
        }
    }

    /// Collects the reply of one exchange, and resumes its caller.
    private final class Reception: TransferReceiver {
        typealias Outcome = Result<HTTPReply, TransportFailure>

        private struct State {
            var continuation: CheckedContinuation<Outcome, Never>?
            var response: HTTPResponse?
            var body = Data()
            /// The destination's bytes, if the body is the file.
            var arriving: ArrivingFile?
            var failure: TransportFailure?
            var progress = TransferProgress()
        }

        private let exchange: HTTPExchange
        private let maximumBodyBytes: Int
        private let progress: (@Sendable (TransferProgress) -> Void)?
        private let state = Mutex(State())

        init(
            _ exchange: HTTPExchange, _ lengthBytes: Int64, maximumBodyBytes: Int,
            _ progress: (@Sendable (TransferProgress) -> Void)?
        ) {
            self.exchange = exchange
            self.maximumBodyBytes = maximumBodyBytes
            self.progress = progress
            if lengthBytes > 0 { state.withLock { $0.progress.totalBytes = lengthBytes } }
        }

        func report(to continuation: CheckedContinuation<Outcome, Never>) {
            state.withLock { $0.continuation = continuation }
        }

        func cancel(in loop: TransferLoop) {
            state.withLock { $0.failure = $0.failure ?? TransportFailure(.cancelled) }
            loop.cancel(self)
        }

        func begin(_ head: ResponseHead) -> Bool {
            let response = HTTPResponse(head)
            return state.withLock { state in
                state.response = response
                do throws(TransportFailure) {
                    state.arriving = try ArrivingFile(exchange, response)
                } catch {
                    state.failure = error
                    return false
                }
                if let arriving = state.arriving {
                    state.progress.receivedBytes = arriving.receivedBytes
                    let length = response.headerFields[.contentLength].flatMap { Int64($0) } ?? 0
                    state.progress.totalBytes = length > 0 ? arriving.receivedBytes + length : nil
                }
                return true
            }
        }

        func receive(_ bytes: [UInt8]) -> Bool {
            if let arriving = exchange.arriving, state.withLock({ $0.response?.status == .ok }) {
                arriving(Data(bytes))
                return true
            }
            let report: TransferProgress? = state.withLock { state in
                if let arriving = state.arriving {
                    do throws(TransportFailure) {
                        try arriving.append(bytes)
                        state.progress.receivedBytes = arriving.receivedBytes
                        return state.progress
                    } catch {
                        state.failure = error
                        return nil
                    }
                }
                guard state.body.count + bytes.count <= maximumBodyBytes else {
                    state.failure = TransportFailure(.malformed)
                    return nil
                }
                state.body.append(contentsOf: bytes)
                state.progress.receivedBytes += Int64(bytes.count)
                return state.progress
            }
            guard let report else { return false }
            if exchange.movesFile { progress?(report) }
            return true
        }

        func note(sentBytes: Int) {
            let report = state.withLock { state in
                state.progress.sentBytes = Int64(sentBytes)
                return state.progress
            }
            if exchange.movesFile { progress?(report) }
        }

        func end(_ result: Result<Void, CurlError>) {
            let (continuation, outcome) = state.withLock { state in
                defer { state = State() }
                return (state.continuation, Self.outcome(of: result, &state))
            }
            continuation?.resume(returning: outcome)
        }

        private static func outcome(of result: Result<Void, CurlError>, _ state: inout State) -> Outcome {
            state.arriving?.end()
            if case .failure(let error) = result { return .failure(state.failure ?? TransportFailure(curl: error)) }
            // The connection has ended within the head, which libcurl does not report as an error.
            guard let response = state.response else { return .failure(TransportFailure(.interrupted)) }
            do throws(TransportFailure) {
                let length = try state.arriving?.complete()
                return .success(HTTPReply(response: response, body: state.body, fileLength: length))
            } catch {
                return .failure(error)
            }
        }
    }

    /// The bytes of a download until it is complete: in the exchange's partial download, otherwise in a temporary file
    /// next to the destination.
    private final class ArrivingFile: Sendable {
        private let partial: PartialDownload
        private let destination: URL
        /// The number of bytes in the file, including those of earlier attempts.
        var receivedBytes: Int64 { partial.receivedBytes }

        /// Nil if the body of the reply is not the file's.
        init?(_ exchange: HTTPExchange, _ response: HTTPResponse) throws(TransportFailure) {
            guard let destination = exchange.destination else { return nil }
            self.destination = destination
            partial =
                exchange.partial
                ?? PartialDownload(destination.appendingPathExtension("partial-\(UUID().uuidString)"))
            do {
                // The caller has requested a part without a partial download: the reply's bytes are the whole result.
                let isPart = exchange.partial == nil && response.status.code == 206
                guard try partial.begin(isPart ? HTTPResponse(status: .ok) : response) else { return nil }
            } catch {
                throw TransportFailure(storing: error)
            }
        }

        func append(_ bytes: [UInt8]) throws(TransportFailure) {
            do { try partial.append(unsafe bytes.span.bytes) } catch { throw TransportFailure(storing: error) }
        }

        /// Ends an attempt; the received bytes are kept as long as the partial download is.
        func end() { partial.end() }

        /// Moves the file to its destination.
        /// - Returns: its length.
        func complete() throws(TransportFailure) -> Int64 {
            do {
                let length = try FileManager.default.replace(destination, with: partial.file)
                partial.complete()
                return length
            } catch {
                throw TransportFailure(.fileUnwritable, underlying: error)
            }
        }
    }

    extension HTTPResponse {
        /// Status and headers; headers with names or values that HTTP does not allow are omitted.
        fileprivate init(_ head: ResponseHead) {
            var fields = HTTPFields()
            for (name, value) in head.headers {
                guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else { continue }
                fields.append(HTTPField(name: name, value: value))
            }
            self.init(status: .init(code: head.status), headerFields: fields)
        }
    }

    extension TransportFailure {
        /// Classifies an error of libcurl (libcurl-errors(3)) by what the caller can conclude from it.
        fileprivate init(curl error: CurlError) {
            let kind: Kind =
                switch error {
                case .notSent, .forbiddenAddress: .notConnected
                case .tls(_, let message): Self.isBrokenConnection(message) ? .notConnected : .untrusted
                case .timedOut, .tooSlow: .timedOut
                // Not HTTP/1 or later; no status line or header; an encoding that cannot be decoded.
                case .interrupted(code: 1, _), .interrupted(code: 8, _), .interrupted(code: 61, _): .malformed
                case .interrupted, .partial, .otherHTTPVersion, .outOfMemory: .interrupted
                case .responseTooLarge, .invalidRequest: .malformed
                // Not cancelled by the caller: the file has become shorter while it was being sent.
                case .cancelled: .fileUnreadable
                }
            self.init(kind, underlying: error)
        }

        /// Whether the connection has ended during the TLS handshake, for which libcurl has no separate code (as of
        /// libcurl 7.88: lib/vtls/openssl.c, `ossl_connect_step2`, and lib/cf-socket.c).
        private static func isBrokenConnection(_ message: String) -> Bool {
            ["OpenSSL SSL_connect:", "Recv failure:", "Send failure:"].contains { message.hasPrefix($0) }
                || message.contains("unexpected eof")
        }
    }
#endif
