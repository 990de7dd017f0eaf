internal import CCurl

/// A transfer with its libcurl handle, from its first option to its end.
///
/// Everything whose address libcurl keeps lives on the heap until the handle is gone. Used by the loop's thread only.
@safe
final class RunningTransfer {
    /// Maximum number of unsent bytes in the kernel: 6 s at 20 kB/s.
    private static let unsentLimitBytes: CInt = 128 * 1024

    let receiver: any TransferReceiver
    private let transfer: Transfer
    private(set) var handle: UnsafeMutableRawPointer
    private let errorText: UnsafeMutableBufferPointer<CChar>
    /// The body, if it consists of bytes.
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let response: UnsafeMutablePointer<ResponseReceiver>
    private let sender: UnsafeMutablePointer<BodySender>
    private let watch: UnsafeMutablePointer<TransferWatch>
    private let headers: HeaderList
    private let end: ContinuousClock.Instant?

    /// Sets up a handle; sends nothing.
    init(_ transfer: Transfer, _ receiver: any TransferReceiver) throws(CurlError) {
        try transfer.request.validate()
        let headers = try HeaderList(of: transfer.request)
        guard let handle = unsafe curl_easy_init() else { throw .outOfMemory }
        self.receiver = receiver
        self.transfer = transfer
        self.headers = headers
        unsafe self.handle = unsafe handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0)
        var arriving = ArrivingBody(lengthBytes: 0, patience: .zero) { _, _ in nil }
        switch transfer.request.body {
        case .none: unsafe bytes = .init(start: nil, count: 0)
        case .bytes(let slice):
            unsafe bytes = .allocate(capacity: slice.count)
            _ = unsafe bytes.initialize(from: slice)
        case .arriving(let body):
            arriving = body
            unsafe bytes = .init(start: nil, count: 0)
        }
        unsafe sender = .allocate(capacity: 1)
        unsafe sender.initialize(to: BodySender(arriving))
        let watch = UnsafeMutablePointer<TransferWatch>.allocate(capacity: 1)
        unsafe watch.initialize(to: TransferWatch(mayBeSentTwice: transfer.mayBeSentTwice, receiver))
        unsafe self.watch = unsafe watch
        unsafe response = .allocate(capacity: 1)
        unsafe response.initialize(
            to: ResponseReceiver(
                onHead: { head in
                    unsafe watch.pointee.progress()
                    return receiver.begin(head)
                },
                onBody: { piece in
                    unsafe watch.pointee.progress()
                    return receiver.receive(unsafe piece.withUnsafeBufferPointer { unsafe Array($0) })
                }))
        end = transfer.request.totalTimeout.map { .now + $0 }
        try setOptions().get()
    }

    deinit {
        // Cleaned up first: libcurl may access the others until then.
        unsafe curl_easy_cleanup(handle)
        unsafe errorText.deallocate()
        unsafe bytes.deallocate()
        unsafe response.deinitialize(count: 1).deallocate()
        unsafe sender.deinitialize(count: 1).deallocate()
        unsafe watch.deinitialize(count: 1).deallocate()
    }

    /// When the transfer times out unless it makes progress.
    var deadline: ContinuousClock.Instant {
        let limit = unsafe watch.pointee.lastProgress + idleLimit
        return end.map { min($0, limit) } ?? limit
    }

    /// libcurl itself ends transfers that do not connect in time; it gets a little more time.
    private var idleLimit: Duration {
        unsafe watch.pointee.hasBegun ? transfer.idleTimeout : transfer.request.connectTimeout + .seconds(1)
    }

    /// The outcome of a transfer that libcurl has ended.
    func result(_ code: CURLcode) -> Result<Void, CurlError> {
        if code == CURLE_OK { return .success(()) }
        if unsafe watch.pointee.isSentTwice {
            return .failure(.interrupted(code: code.rawValue, message: "the server closed a reused connection"))
        }
        if unsafe sender.pointee.hasFailed || response.pointee.isCancelled { return .failure(.cancelled) }
        if unsafe response.pointee.headersOverflowed {
            return .failure(.responseTooLarge(limitBytes: ResponseReceiver.headerLimitBytes))
        }
        return .failure(
            unsafe CurlError(code, of: handle, errorText, mayHaveBeenSent: watch.pointee.hasBegun))
    }

    /// The outcome of a transfer whose deadline has passed.
    var overdueResult: Result<Void, CurlError> {
        unsafe watch.pointee.hasBegun
            ? .failure(.timedOut(message: "no progress"))
            : .failure(.notSent(code: CURLE_OPERATION_TIMEDOUT.rawValue, message: "no connection in time"))
    }

    private func setOptions() -> Result<Void, CurlError> {
        var request = transfer.request
        // The loop enforces the time limits.
        request.totalTimeout = nil
        request.lowSpeedLimitBytesPerSecond = 0
        var options = unsafe OptionSetter(handle: handle)
        unsafe options.set(CURLOPT_ERRORBUFFER, pointer: errorText.baseAddress)
        unsafe options.set(CURLOPT_HTTPHEADER, list: headers.head)
        if let caFile = transfer.caFile { options.set(CURLOPT_CAINFO, caFile) }
        options.set(CURLOPT_PROTOCOLS_STR, transfer.allowsPlainHTTP ? "https,http" : "https")
        options.setConnection(of: request)
        // Servers and intermediaries close connections that are idle for about a minute; a request sent at that moment
        // fails.
        options.set(CURLOPT_MAXAGE_CONN, 30)
        if case .arriving(let body) = request.body, body.lengthBytes > 0 {
            unsafe options.setMethod(of: request, andArriving: body, sender)
        } else {
            unsafe options.setMethodAndBody(of: request, UnsafeRawBufferPointer(bytes))
        }
        unsafe options.setReceiver(response)
        setWatch(&options)
        return options.outcome
    }

    private func setWatch(_ options: inout OptionSetter) {
        options.set(CURLOPT_NOPROGRESS, 0)
        unsafe options.set(CURLOPT_XFERINFODATA, pointer: watch)
        unsafe options.setProgress { context, _, _, _, sent in
            guard let context = unsafe context else { return 1 }
            unsafe context.assumingMemoryBound(to: TransferWatch.self).pointee.note(sentBytes: Int(sent))
            return 0
        }
        unsafe options.set(CURLOPT_PREREQDATA, pointer: watch)
        unsafe options.setBeforeRequest { context, _, _, _, _ in
            guard let context = unsafe context else { return CURL_PREREQFUNC_ABORT }
            let mayBegin = unsafe context.assumingMemoryBound(to: TransferWatch.self).pointee.begin()
            return mayBegin ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
        unsafe options.setSocketOptions { _, socket, _ in
            shim_curl_limit_unsent(socket, RunningTransfer.unsentLimitBytes)
            return CURL_SOCKOPT_OK
        }
    }
}

/// The progress of one transfer, as its callbacks recorded it.
struct TransferWatch {
    private let mayBeSentTwice: Bool
    private let receiver: any TransferReceiver
    private var sentBytes = 0

    /// When the last progress occurred, or the transfer began.
    private(set) var lastProgress = ContinuousClock.now
    /// Whether a connection for the request was available.
    private(set) var hasBegun = false
    /// Set once libcurl tried to send the request again, which was not allowed.
    private(set) var isSentTwice = false

    init(mayBeSentTwice: Bool, _ receiver: any TransferReceiver) {
        self.mayBeSentTwice = mayBeSentTwice
        self.receiver = receiver
    }

    mutating func progress() { lastProgress = .now }

    /// Decides whether the request may be sent on the current connection.
    mutating func begin() -> Bool {
        isSentTwice = hasBegun && !mayBeSentTwice
        hasBegun = true
        sentBytes = 0
        progress()
        return !isSentTwice
    }

    mutating func note(sentBytes: Int) {
        guard sentBytes > self.sentBytes else { return }
        self.sentBytes = sentBytes
        progress()
        receiver.note(sentBytes: sentBytes)
    }
}
