internal import CFastCGI
internal import Glibc

/// Room for one FastCGI request at a time, owned by one worker thread and reused for all its requests.
///
/// Not `Sendable`: libfcgi allows many threads, each with its own request, but never one request on two threads at once
/// (fcgiapp.h). The connection to the web server is closed after each request, because each idle keep-alive connection
/// would occupy a thread.
@safe
public struct RequestSlot: ~Copyable {
    /// The buffer of libfcgi's streams (fcgiapp.c, `FCGX_Accept_r`).
    private static let libraryBufferBytes = 8192
    /// `net.core.wmem_default`, unless it was changed.
    private static let usualSendBufferBytes = 212_992

    // On the heap, because its streams point back to it.
    private let request: UnsafeMutablePointer<FCGX_Request>
    private let socket: ListeningSocket

    /// - Throws: ``FastCGIError/library(code:)``.
    public init(on socket: ListeningSocket) throws(FastCGIError) {
        let request = UnsafeMutablePointer<FCGX_Request>.allocate(capacity: 1)
        unsafe request.initialize(to: FCGX_Request())
        let code = unsafe FCGX_InitRequest(request, -1, 0)
        guard code == 0 else {
            unsafe request.deallocate()
            throw .library(code: code)
        }
        self.socket = socket
        unsafe self.request = unsafe request
    }

    deinit {
        unsafe FCGX_Free(request, 1)
        unsafe request.deallocate()
    }

    /// Waits for the next request, ending the previous one if ``finish()`` was not called.
    ///
    /// The connection is accepted here rather than by libfcgi, which reads the request's parameters in the same call: a
    /// signal that arrived slightly later would interrupt that read instead of the wait, and lose the request. Here
    /// `wakingSignal` can interrupt accept(2) only, so a responder can be woken to stop without losing anything.
    /// - Parameter wakingSignal: a signal with a handler that does nothing, installed without `SA_RESTART`, and
    ///   blocked in this thread.
    /// - Returns: ``Acceptance/interrupted`` if the signal arrived or the connection brought no request.
    public mutating func accept(wakingSignal: Int32) -> Acceptance {
        unsafe FCGX_Finish_r(request)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, wakingSignal)
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        let connection = fastcgi_accept(socket.descriptor)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        guard connection >= 0 else { return .interrupted }
        // FCGX_Accept_r uses an existing connection; "keep" prevents it from closing that connection first, and is then
        // overwritten with the web server's value. Without a listening socket it cannot wait for another one.
        unsafe request.pointee.ipcFd = connection
        unsafe request.pointee.keepConnection = 1
        // Otherwise libfcgi would wait up to two seconds, at the end, for the web server to close its side.
        _ = unsafe FCGX_Detach(request)
        return unsafe FCGX_Accept_r(request) == 0 ? .request : .interrupted
    }

    /// Why ``RequestSlot/accept()`` returned.
    public enum Acceptance: Equatable, Sendable {
        case request
        case interrupted
    }

    /// The value of a FastCGI parameter, with invalid UTF-8 replaced; `nil` if the web server did not pass it.
    public borrowing func parameter(_ name: String) -> String? {
        guard let value = unsafe FCGX_GetParam(name, request.pointee.envp) else { return nil }
        return unsafe String(cString: value)
    }

    /// All FastCGI parameters, as `(name, value)` pairs in the order of arrival.
    public var parameters: [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        guard var entry = unsafe request.pointee.envp else { return pairs }
        while let text = unsafe entry.pointee {
            let pair = unsafe String(cString: text)
            if let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) {
                pairs.append((String(pair[..<equals]), String(pair[pair.index(after: equals)...])))
            }
            unsafe entry += 1
        }
        return pairs
    }

    /// Reads the next bytes of the request's body into a range of `buffer`, blocking until it is full or the body ends.
    ///
    /// - Returns: the number of bytes read; fewer than asked for only at the end of the body, 0 once it has ended.
    /// - Throws: ``FastCGIError/aborted`` if the peer disconnected: libfcgi reports that as the end of the body until
    ///   its error state is queried.
    public mutating func read(
        into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>
    ) throws(FastCGIError) -> Int {
        try read(min(range.count, Int(Int32.max)), into: &buffer, at: range.lowerBound)
    }

    /// Reads the next available bytes of the request's body, at least one, into a range of `buffer`; blocks only while
    /// no data is available.
    ///
    /// - Returns: the number of bytes read; 0 once the body has ended, or if the range is empty.
    /// - Throws: ``FastCGIError/aborted``, as ``read(into:_:)``.
    public mutating func readArriving(
        into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>
    ) throws(FastCGIError) -> Int {
        let (offset, room) = (range.lowerBound, range.count)
        guard room > 0 else { return 0 }
        // Bytes that libfcgi has buffered need no waiting; without any, reading one byte makes it wait for the next
        // record.
        guard let stream = unsafe request.pointee.in else { return 0 }
        let first = try read(max(1, unsafe min(room, Self.bytesAtHand(stream))), into: &buffer, at: offset)
        guard first == 1, room > 1 else { return first }
        let rest = unsafe min(room - 1, Self.bytesAtHand(stream))
        return rest > 0 ? try first + read(rest, into: &buffer, at: offset + 1) : first
    }

    /// Lets bytes of the request's body accumulate for a while, unless some are already buffered; returns earlier if
    /// the web server closes the connection (poll(2), `POLLHUP`).
    public borrowing func collect(for time: Duration) {
        guard let stream = unsafe request.pointee.in, unsafe Self.bytesAtHand(stream) == 0 else { return }
        var descriptor = unsafe pollfd(fd: request.pointee.ipcFd, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&descriptor, 1, 0) == 0 else { return }
        descriptor.events = 0
        _ = unsafe poll(&descriptor, 1, time.pollMilliseconds)
    }

    /// Bytes of the current record that libfcgi has already read from the socket (fcgiapp.h, `FCGX_Stream`).
    private static func bytesAtHand(_ stream: UnsafeMutablePointer<FCGX_Stream>) -> Int {
        guard let next = unsafe stream.pointee.rdNext, let stop = unsafe stream.pointee.stop else { return 0 }
        return unsafe max(0, stop - next)
    }

    private mutating func read(
        _ wanted: Int, into buffer: inout MutableSpan<UInt8>, at offset: Int
    ) throws(FastCGIError) -> Int {
        precondition(offset >= 0 && wanted <= buffer.count - offset, "the range is inside the buffer")
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe FCGX_GetStr(
                bytes.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self), CInt(wanted),
                request.pointee.in)
        }
        if Int(count) < wanted, unsafe FCGX_GetError(request.pointee.in) != 0 { throw .aborted }
        return Int(count)
    }

    /// Limits, for the current request, how long writing one piece of the reply may block until the web server accepts
    /// more (socket(7), `SO_SNDTIMEO`): after that ``write(_:)`` throws ``FastCGIError/timedOut``, and the reply cannot
    /// continue.
    public borrowing func limitWriting(to limit: Duration) {
        setLimit(SO_SNDTIMEO, to: limit)
    }

    /// Limits, for the current request, how long reading may block until more of the body arrives (socket(7),
    /// `SO_RCVTIMEO`): after that ``read(into:_:)`` throws ``FastCGIError/aborted``.
    public borrowing func limitReading(to limit: Duration) { setLimit(SO_RCVTIMEO, to: limit) }

    /// Sets, for the current request, the size of the buffer for bytes that the web server has not read yet (socket(7),
    /// `SO_SNDBUF`): Linux's usual 208 KiB, or twice as much.
    public borrowing func useSendBuffer(isLarge: Bool) {
        // The kernel doubles the given size, and accepts at most its usual size, unless `net.core.wmem_max` is changed.
        var bytes = Int32(isLarge ? Self.usualSendBufferBytes : Self.usualSendBufferBytes / 2)
        _ = unsafe setsockopt(
            request.pointee.ipcFd, SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    private borrowing func setLimit(_ option: Int32, to limit: Duration) {
        let time = timeval(
            tv_sec: Int(limit.components.seconds),
            tv_usec: Int(limit.components.attoseconds / 1_000_000_000_000))
        _ = unsafe withUnsafePointer(to: time) {
            unsafe setsockopt(
                request.pointee.ipcFd, SOL_SOCKET, option, $0, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Appends to the reply: header lines, an empty line, then the body (RFC 3875, section 6).
    ///
    /// Bytes that do not fit into libfcgi's buffer go to the web server at once and unbuffered: libfcgi would copy
    /// them, and write a record for each 8 KiB.
    /// - Throws: ``FastCGIError/aborted`` if the peer is gone; ``FastCGIError/timedOut``, see ``limitWriting(to:)``.
    public mutating func write(_ bytes: Span<UInt8>) throws(FastCGIError) {
        guard !bytes.isEmpty else { return }
        guard bytes.count < Self.libraryBufferBytes else {
            try flush()
            return try OutputRecord.send(bytes, of: unsafe request.pointee.requestId, to: unsafe request.pointee.ipcFd)
        }
        let written = unsafe bytes.withUnsafeBytes { bytes in
            unsafe FCGX_PutStr(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count), request.pointee.out)
        }
        guard Int(written) == bytes.count else {
            throw unsafe FCGX_GetError(request.pointee.out) == EAGAIN ? .timedOut : .aborted
        }
    }

    /// Appends `bytes` to the reply.
    /// - Throws: ``FastCGIError/aborted`` if the peer is gone.
    public mutating func write(_ bytes: [UInt8]) throws(FastCGIError) {
        try write(bytes.span)
    }

    /// Whether another 64 KiB can be written to the web server without blocking.
    ///
    /// Calls poll(2). A stream socket counts as writable only while at least three quarters of its buffer are free
    /// (unix(7), of 208 KiB unless configured), which 64 KiB fit into.
    public var canWriteWithoutWaiting: Bool {
        var descriptor = unsafe pollfd(fd: request.pointee.ipcFd, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&descriptor, 1, 0) == 1 && descriptor.revents & Int16(POLLOUT) != 0
    }

    /// Whether the web server closes the connection within `time`, as nginx does once its client has disconnected
    /// (poll(2), `POLLHUP`); waits no longer than necessary.
    public func isClosedByPeer(within time: Duration = .zero) -> Bool {
        var descriptor = unsafe pollfd(fd: request.pointee.ipcFd, events: 0, revents: 0)
        return unsafe poll(&descriptor, 1, time.pollMilliseconds) == 1 && descriptor.revents & Int16(POLLHUP) != 0
    }

    /// Sends the data written so far.
    /// - Throws: ``FastCGIError/aborted`` if the peer is gone.
    public mutating func flush() throws(FastCGIError) {
        guard unsafe FCGX_FFlush(request.pointee.out) == 0 else {
            throw unsafe FCGX_GetError(request.pointee.out) == EAGAIN ? .timedOut : .aborted
        }
    }

    /// Ends the reply properly and closes the connection.
    public mutating func finish() {
        unsafe FCGX_Finish_r(request)
    }

    /// Ends the reply properly although the body has not been read to its end, and closes the connection once the web
    /// server has done so, or after `limit`.
    ///
    /// The rest of the body that arrives meanwhile is read and discarded. If the connection were closed immediately, a
    /// web server still sending the body would fail with EPIPE before reading the reply, and respond with 502.
    public mutating func finishUnread(within limit: Duration) {
        let connection = unsafe dup(request.pointee.ipcFd)
        unsafe FCGX_Finish_r(request)
        guard connection >= 0 else { return }
        defer { close(connection) }
        shutdown(connection, Int32(SHUT_WR))
        let end = ContinuousClock.now + limit
        var dropped = [UInt8](repeating: 0, count: 16 * 1024)
        while case let left = ContinuousClock.now.duration(to: end), left > .zero {
            var descriptor = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&descriptor, 1, left.pollMilliseconds) > 0,
                unsafe recv(connection, &dropped, dropped.count, Int32(MSG_DONTWAIT)) > 0
            else { return }
        }
    }

    /// Ends the connection without a proper end of the reply, so that the web server cannot mistake the sent part for a
    /// complete reply.
    ///
    /// nginx treats a connection that just closes as the proper end of a reply (observed with 1.22, unless connections
    /// are kept alive). A record with the nonexistent protocol version 0 is an error to it: it closes the connection to
    /// the phone.
    public mutating func abandon() {
        let noRecord = [UInt8](repeating: 0, count: 8)
        // Does not wait: a peer that no longer reads need not be notified.
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        _ = unsafe send(request.pointee.ipcFd, noRecord, noRecord.count, flags)
        unsafe FCGX_Free(request, 1)
    }
}

extension Duration {
    /// In poll(2)'s unit, rounded up.
    fileprivate var pollMilliseconds: Int32 {
        Int32(clamping: components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 + 1)
    }
}
