import CCurl

/// One libcurl easy handle, owned by one worker and reused to keep connections alive.
///
/// Follows no redirects, uses no proxy, always verifies certificates, supports only HTTPS. Not `Sendable`: a handle
/// must never be used by two threads at the same time (libcurl-thread(3)).
@safe
public struct EasyHandle: ~Copyable {
    private var handle: UnsafeMutableRawPointer
    /// Where libcurl writes its error text (CURLOPT_ERRORBUFFER(3)): must outlive every transfer.
    private let errorText: UnsafeMutableBufferPointer<CChar>
    /// The list for CURLOPT_CONNECT_TO, which libcurl does not copy.
    private let connectTo: HeaderList
    private let routing: Routing
    private let allowedProtocols: String

    /// Creates a handle; does not connect yet.
    ///
    /// - Parameters:
    ///   - routing: where connections go; by default to the hosts in the URLs.
    ///   - allowsPlainHTTP: also allows `http` URLs; for tests.
    /// - Throws: ``CurlError/outOfMemory``.
    public init(routing: Routing = .direct, allowsPlainHTTP: Bool = false) throws(CurlError) {
        var connectTo = HeaderList()
        if let target = routing.connectTo { try connectTo.append("::" + target) }
        guard let handle = unsafe curl_easy_init() else { throw .outOfMemory }
        unsafe self.handle = unsafe handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0)
        self.connectTo = connectTo
        self.routing = routing
        allowedProtocols = allowsPlainHTTP ? "https,http" : "https"
    }

    deinit {
        unsafe curl_easy_cleanup(handle)
        unsafe errorText.deallocate()
    }

    /// Sends the request and collects the response, with at most ``Request/responseBodyLimit`` bytes of body.
    ///
    /// A response with any status counts as success.
    /// - Throws: any ``CurlError``.
    public mutating func perform(_ request: Request) throws(CurlError) -> Response {
        var head: ResponseHead?
        var body: [UInt8] = []
        var overflowed = false
        let limit = request.responseBodyLimit
        do throws(CurlError) {
            try perform(
                request,
                onHead: { received in
                    head = received
                    if let length = received.value(of: "Content-Length").flatMap({ Int($0) }),
                        (0...max(0, limit)).contains(length)
                    {
                        body.reserveCapacity(length)
                    }
                    return true
                },
                onBody: { bytes in
                    overflowed = bytes.count > limit - body.count
                    if !overflowed { unsafe bytes.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) } }
                    return !overflowed
                })
        } catch {
            throw overflowed ? .responseTooLarge(limitBytes: limit) : error
        }
        guard let head else { throw .interrupted(code: CURLE_WEIRD_SERVER_REPLY.rawValue, message: "no head") }
        return Response(head: head, body: body)
    }

    /// Sends the request and passes the response on as it arrives, without a size limit.
    ///
    /// `onHead` is called once, before the first call of `onBody`; either may return false to stop the transfer, which
    /// closes the connection. A body must not be trusted before this function has returned.
    /// - Throws: any ``CurlError``; ``CurlError/cancelled`` if a closure returned false.
    public mutating func perform(
        _ request: Request, onHead: (ResponseHead) -> Bool, onBody: (Span<UInt8>) -> Bool
    ) throws(CurlError) {
        try request.validate()
        let outcome = withoutActuallyEscaping(onHead) { onHead in
            withoutActuallyEscaping(onBody) { onBody in
                transfer(
                    request,
                    ResponseReceiver(requiresHTTP2: request.httpVersion == .http2Only, onHead: onHead, onBody: onBody))
            }
        }
        try outcome.get()
    }

    private mutating func transfer(_ request: Request, _ receiver: consuming ResponseReceiver) -> Result<
        Void, CurlError
    > {
        var receiver = receiver
        var connectionGuard = ConnectionGuard(reach: request.reach)
        // libcurl keeps the addresses of receiver, guard, body and headers only until `run` returns.
        let result: Result<Void, CurlError> = unsafe withUnsafeMutablePointer(to: &receiver) { receiver in
            unsafe withUnsafeMutablePointer(to: &connectionGuard) { connectionGuard in
                switch request.body {
                case .none:
                    unsafe run(request, body: .init(start: nil, count: 0), receiver, connectionGuard)
                case .bytes(let bytes):
                    unsafe bytes.withUnsafeBytes { unsafe run(request, body: $0, receiver, connectionGuard) }
                case .arriving(let body):
                    unsafe run(request, arriving: body, receiver, connectionGuard)
                }
            }
        }
        guard case .failure(let error) = result else { return result }
        // An allowed address may have been tried as well; then report its failure.
        if connectionGuard.hasRefused, !connectionGuard.hasAllowed, !error.mayHaveBeenSent {
            return .failure(.forbiddenAddress)
        }
        if receiver.isOtherVersion { return .failure(.otherHTTPVersion) }
        if receiver.isCancelled { return .failure(.cancelled) }
        if receiver.headersOverflowed {
            return .failure(.responseTooLarge(limitBytes: ResponseReceiver.headerLimitBytes))
        }
        return result
    }

    private mutating func run(
        _ request: Request, arriving body: ArrivingBody, _ receiver: UnsafeMutablePointer<ResponseReceiver>,
        _ connectionGuard: UnsafeMutablePointer<ConnectionGuard>
    ) -> Result<Void, CurlError> {
        var sender = BodySender(body)
        let result = unsafe withUnsafeMutablePointer(to: &sender) { sender in
            unsafe run(request, body: .init(start: nil, count: 0), receiver, connectionGuard, sender: sender)
        }
        guard case .failure = result else { return result }
        if sender.hasFailed { return .failure(.cancelled) }
        if sender.isOverdue { return .failure(.timedOut(message: "the server took too long")) }
        return result
    }

    private mutating func run(
        _ request: Request, body: UnsafeRawBufferPointer, _ receiver: UnsafeMutablePointer<ResponseReceiver>,
        _ connectionGuard: UnsafeMutablePointer<ConnectionGuard>, sender: UnsafeMutablePointer<BodySender>? = nil
    ) -> Result<Void, CurlError> {
        // Keeps live connections, and clears this request's options and their addresses (curl_easy_reset(3)).
        defer { unsafe curl_easy_reset(handle) }
        do throws(CurlError) {
            let headers = try HeaderList(of: request)
            var isReady = unsafe setOptions(of: request, headers, body, receiver, connectionGuard, sender)
            if case .failure = isReady {
                // A transfer that ended before it had a connection, for example after a failed name lookup, leaves
                // buffers behind, and libcurl 7.88 rejects their sizes from then on. A new handle is unaffected.
                try renewHandle()
                isReady = unsafe setOptions(of: request, headers, body, receiver, connectionGuard, sender)
            }
            try isReady.get()
            let code = unsafe curl_easy_perform(handle)
            withExtendedLifetime(headers) {}
            guard code == CURLE_OK else { throw unsafe CurlError(code, of: handle, errorText) }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Sets all options of one transfer; fails with the first one that libcurl rejected.
    private func setOptions(
        of request: Request, _ headers: borrowing HeaderList, _ body: UnsafeRawBufferPointer,
        _ receiver: UnsafeMutablePointer<ResponseReceiver>, _ connectionGuard: UnsafeMutablePointer<ConnectionGuard>,
        _ sender: UnsafeMutablePointer<BodySender>?
    ) -> Result<Void, CurlError> {
        unsafe errorText[0] = 0
        var options = unsafe OptionSetter(handle: handle)
        unsafe options.set(CURLOPT_ERRORBUFFER, pointer: errorText.baseAddress)
        unsafe options.set(CURLOPT_HTTPHEADER, list: headers.head)
        unsafe options.set(CURLOPT_CONNECT_TO, list: connectTo.head)
        if let caFile = routing.caFile { options.set(CURLOPT_CAINFO, caFile) }
        options.set(CURLOPT_PROTOCOLS_STR, allowedProtocols)
        options.setConnection(of: request)
        if case .arriving(let arriving) = request.body, let sender = unsafe sender {
            unsafe options.setMethod(of: request, andArriving: arriving, sender)
        } else {
            unsafe options.setMethodAndBody(of: request, body)
        }
        unsafe options.setReceiver(receiver)
        if request.reach == .publicAddresses { unsafe options.setGuard(connectionGuard) }
        return options.outcome
    }

    /// Replaces the libcurl handle with a new one; the connections of the old one are closed.
    /// - Throws: ``CurlError/outOfMemory``; then the old handle is kept.
    private mutating func renewHandle() throws(CurlError) {
        guard let newHandle = unsafe curl_easy_init() else { throw .outOfMemory }
        unsafe curl_easy_cleanup(handle)
        unsafe handle = unsafe newHandle
    }
}

/// Where connections go instead of the hosts in the URLs; for running against emulated servers.
public struct Routing: Sendable, Equatable {
    /// `host:port` of every connection, regardless of the URL; nil for the URL's own host. The URL, the `Host` header
    /// and the name in the certificate are unaffected (CURLOPT_CONNECT_TO(3)).
    public var connectTo: String?
    /// A PEM file of the certificate authorities to trust instead of the system's; nil for the system's.
    public var caFile: String?

    /// Creates a routing; without arguments, the production one.
    public init(connectTo: String? = nil, caFile: String? = nil) {
        self.connectTo = connectTo
        self.caFile = caFile
    }

    /// Connections go where the URLs say, and the system's certificate authorities are trusted.
    public static let direct = Routing()
}
