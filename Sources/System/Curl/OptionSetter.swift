import CCurl
import Glibc

/// Sets the options of one transfer and remembers the first one that libcurl rejected.
@safe
struct OptionSetter {
    private let handle: UnsafeMutableRawPointer
    private var failure: CURLcode?

    init(handle: UnsafeMutableRawPointer) { unsafe self.handle = unsafe handle }

    /// Fails with the ``CurlError`` of the first rejected option.
    var outcome: Result<Void, CurlError> {
        guard let failure else { return .success(()) }
        return .failure(CurlError(failure, message: "an option was refused", sentBytes: 0))
    }

    /// Sets an option that is a number or a flag.
    mutating func set(_ option: CURLoption, _ value: Int) {
        note(unsafe shim_curl_setopt_long(handle, option, value))
    }

    /// Sets an option that is text; libcurl copies it.
    mutating func set(_ option: CURLoption, _ value: String) {
        note(unsafe shim_curl_setopt_string(handle, option, value))
    }

    /// Sets an option whose pointer libcurl keeps.
    mutating func set(_ option: CURLoption, pointer: UnsafeMutableRawPointer?) {
        note(unsafe shim_curl_setopt_pointer(handle, option, pointer))
    }

    /// Sets an option whose list libcurl keeps.
    mutating func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) {
        note(unsafe shim_curl_setopt_list(handle, option, list))
    }

    /// Sets a callback.
    mutating func set(_ option: CURLoption, callback: @escaping shim_curl_data_callback) {
        note(unsafe shim_curl_setopt_callback(handle, option, callback))
    }

    /// Sets the callback that creates sockets.
    mutating func setOpenSocket(_ callback: @escaping curl_opensocket_callback) {
        note(unsafe shim_curl_setopt_open_socket(handle, callback))
    }

    /// Sets the callback for the transfer's progress.
    mutating func setProgress(_ callback: @escaping curl_xferinfo_callback) {
        note(unsafe shim_curl_setopt_progress(handle, callback))
    }

    /// Sets the callback that libcurl calls before it sends the request.
    mutating func setBeforeRequest(_ callback: @escaping curl_prereq_callback) {
        note(unsafe shim_curl_setopt_prereq(handle, callback))
    }

    /// Sets the callback that sets a new socket's options.
    mutating func setSocketOptions(_ callback: @escaping curl_sockopt_callback) {
        note(unsafe shim_curl_setopt_socket_options(handle, callback))
    }

    private mutating func note(_ code: CURLcode) {
        if code != CURLE_OK && failure == nil { failure = code }
    }
}

extension OptionSetter {
    /// Bodies at least this long are sent through a large buffer.
    private static let bulkBytes = 64 * 1024

    /// Sets the connection options: TLS, versions, timeouts.
    mutating func setConnection(of request: Request) {
        // Signals would interrupt other threads (CURLOPT_NOSIGNAL(3)).
        set(CURLOPT_NOSIGNAL, 1)
        // A name lookup without an answer ends at the timeout; the resolver thread finishes on its own, while libcurl
        // would otherwise wait for it (CURLOPT_QUICK_EXIT(3)).
        set(CURLOPT_QUICK_EXIT, 1)
        // Otherwise a handle would use an address for a minute, regardless of its time to live and even after it has
        // failed.
        set(CURLOPT_DNS_CACHE_TIMEOUT, 0)
        // A proxy set in the environment would see where users' files go.
        if !request.usesEnvironmentProxy { set(CURLOPT_PROXY, "") }
        // A proxy's reply to CONNECT is not the response.
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        // Everything that this libcurl can decompress.
        if request.acceptsCompression { set(CURLOPT_ACCEPT_ENCODING, "") }
        set(CURLOPT_FOLLOWLOCATION, 0)
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        switch request.httpVersion {
        case .http11: set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        case .http2, .http2Only: set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        }
        set(CURLOPT_TCP_KEEPALIVE, 1)
        set(CURLOPT_TCP_KEEPIDLE, 30)
        set(CURLOPT_TCP_KEEPINTVL, 15)
        set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.milliseconds)
        if case .arriving = request.body {
            // The body's patience limits the server's share of the time.
        } else {
            setTimeLimits(of: request)
        }
        if request.usesFreshConnection {
            set(CURLOPT_FRESH_CONNECT, 1)
            set(CURLOPT_FORBID_REUSE, 1)
        }
    }

    private mutating func setTimeLimits(of request: Request) {
        if let total = request.totalTimeout { set(CURLOPT_TIMEOUT_MS, total.milliseconds) }
        if request.lowSpeedLimitBytesPerSecond > 0 {
            set(CURLOPT_LOW_SPEED_LIMIT, request.lowSpeedLimitBytesPerSecond)
            set(CURLOPT_LOW_SPEED_TIME, (request.lowSpeedTime.milliseconds + 999) / 1000)
        }
    }

    /// Sets URL, method and body; `body` must remain valid until the transfer has ended.
    mutating func setMethodAndBody(of request: Request, _ body: UnsafeRawBufferPointer) {
        set(CURLOPT_URL, request.url)
        let isEmptyPost = ["POST", "PUT", "PATCH"].contains(request.method) || request.hasEmptyBody
        if body.count > 0 || isEmptyPost {
            // Any method with a body is sent as a POST under another name: the bytes are read in place, and libcurl can
            // send them again if a reused connection turns out to be dead.
            set(CURLOPT_POST, 1)
            note(unsafe shim_curl_setopt_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count)))
            unsafe set(CURLOPT_POSTFIELDS, pointer: .init(mutating: body.baseAddress ?? Self.noBytes))
            if body.count > Self.bulkBytes { set(CURLOPT_UPLOAD_BUFFERSIZE, request.uploadBufferBytes) }
            if request.method != "POST" { set(CURLOPT_CUSTOMREQUEST, request.method) }
        } else if request.method == "HEAD" {
            set(CURLOPT_NOBODY, 1)
        } else {
            set(CURLOPT_HTTPGET, 1)
            if request.method != "GET" { set(CURLOPT_CUSTOMREQUEST, request.method) }
        }
    }

    /// Sets URL, method and a body that is still arriving; `sender` must remain valid until the transfer has ended.
    mutating func setMethod(
        of request: Request, andArriving body: ArrivingBody, _ sender: UnsafeMutablePointer<BodySender>
    ) {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_UPLOAD, 1)
        if request.method != "PUT" { set(CURLOPT_CUSTOMREQUEST, request.method) }
        note(unsafe shim_curl_setopt_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.lengthBytes)))
        set(CURLOPT_UPLOAD_BUFFERSIZE, request.uploadBufferBytes)
        unsafe set(CURLOPT_READDATA, pointer: sender)
        unsafe set(
            CURLOPT_READFUNCTION,
            callback: { bytes, size, count, context in
                guard let bytes = unsafe bytes, let context = unsafe context else { return Int(CURL_READFUNC_ABORT) }
                let sender = unsafe context.assumingMemoryBound(to: BodySender.self)
                let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count).assumingMemoryBound(
                    to: UInt8.self)
                var buffer = unsafe room.mutableSpan
                return unsafe sender.pointee.supply(&buffer) ?? Int(CURL_READFUNC_ABORT)
            })
        unsafe set(CURLOPT_SEEKDATA, pointer: sender)
        note(
            unsafe shim_curl_setopt_seek(handle) { context, offset, origin in
                guard let context = unsafe context, origin == SEEK_SET else { return Int32(CURL_SEEKFUNC_FAIL) }
                let sender = unsafe context.assumingMemoryBound(to: BodySender.self)
                return Int32(unsafe sender.pointee.seek(to: offset) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL)
            })
        set(CURLOPT_NOPROGRESS, 0)
        unsafe set(CURLOPT_XFERINFODATA, pointer: sender)
        unsafe setProgress { context, _, _, _, _ in
            guard let context = unsafe context else { return 1 }
            let sender = unsafe context.assumingMemoryBound(to: BodySender.self)
            return unsafe sender.pointee.checkPatience() ? 0 : 1
        }
    }

    /// Sets the callbacks; `receiver` must remain valid until the transfer has ended.
    mutating func setReceiver(_ receiver: UnsafeMutablePointer<ResponseReceiver>) {
        unsafe set(CURLOPT_HEADERDATA, pointer: receiver)
        unsafe set(CURLOPT_WRITEDATA, pointer: receiver)
        unsafe set(
            CURLOPT_HEADERFUNCTION,
            callback: { bytes, size, count, context in
                // Returning a number other than the given one makes libcurl abort the transfer
                // (CURLOPT_HEADERFUNCTION(3)).
                guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
                let line = unsafe String(
                    decoding: UnsafeRawBufferPointer(start: bytes, count: size * count), as: UTF8.self)
                let receiver = unsafe context.assumingMemoryBound(to: ResponseReceiver.self)
                return unsafe receiver.pointee.receiveHeader(Substring(line).utf8) ? size * count : 0
            })
        unsafe set(
            CURLOPT_WRITEFUNCTION,
            callback: { bytes, size, count, context in
                guard let bytes = unsafe bytes, let context = unsafe context else { return 0 }
                let receiver = unsafe context.assumingMemoryBound(to: ResponseReceiver.self)
                let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count).assumingMemoryBound(
                    to: UInt8.self)
                return unsafe receiver.pointee.receiveBody(piece.span) ? size * count : 0
            })
    }

    /// An address for an empty body: without one, libcurl would ask a read callback for the body.
    private static var noBytes: UnsafeRawPointer { unsafe UnsafeRawPointer(StaticString("").utf8Start) }
}

extension Duration {
    /// Whole milliseconds, at least 1, because 0 would mean libcurl's default.
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        return max(1, Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}

/// A `curl_slist`, freed in `deinit`.
@safe
struct HeaderList: ~Copyable {
    /// First node; nil if the list is empty. libcurl reads it during the transfer and does not copy it.
    private(set) var head: UnsafeMutablePointer<curl_slist>?

    init() { unsafe head = nil }

    /// The headers of a request, and lines that suppress those that libcurl would add.
    init(of request: Request) throws(CurlError) {
        self.init()
        for (name, value) in request.headers {
            // "Name:" would remove the header; with a semicolon it is sent without a value (CURLOPT_HTTPHEADER(3)).
            try append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        // "Name:" suppresses what libcurl would add: a wait for "100 Continue", and a form's content type.
        if !request.hasHeader("Expect") { try append("Expect:") }
        if !request.hasHeader("Content-Type") { try append("Content-Type:") }
    }

    deinit { unsafe curl_slist_free_all(head) }

    /// Adds a copy of `text` at the end.
    mutating func append(_ text: String) throws(CurlError) {
        // On failure the old list is unchanged (curl_slist_append(3)).
        guard let longer = unsafe curl_slist_append(head, text) else { throw .outOfMemory }
        unsafe head = unsafe longer
    }
}
