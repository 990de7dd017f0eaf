import FastCGI
import Metrics
import Posix
import SyncProtocol
import SyncService

/// A phone behind nginx, as the endpoints see it; one per worker thread, for all its requests. If a request waits for
/// its turn, the connection continues on the thread that admits it.
final class FastCGIConnection: ClientConnection {
    private static let headerParameters = RequestHeader.allCases.map { ($0, $0.fastCGIParameter) }

    private var slot: RequestSlot
    private var worker: Worker
    private let transferred: MetricsWiring.TransferObserver?
    /// The minimum rate of a transfer, in its initial state; `nil` for none.
    private let slowestPace: TransferPace?
    private var pace: TransferPace?
    private var arrivals = ArrivalCoalescing(at: .now)
    /// How much of the announced body has not been read yet.
    private var missingBytes: Int64 = 0
    /// Whether more bytes of the body may arrive: they are then discarded at the end, within a short time.
    private var hasUnreadBody = false
    private var announcesLength = false
    /// The direction of the file transfer, if this request is one.
    private var direction: TransferDirection?
    /// Whether the reply's head has been sent: the file follows.
    private var hasStarted = false
    private var replyBuffer = ReplyBuffer()
    private var lastWrite = ContinuousClock.now

    /// How long the web server may take to close its side after a reply sent before the end of the body.
    private static let endOfUnread: Duration = .seconds(2)

    /// - Parameters:
    ///   - slowestPace: the minimum rate of every transfer.
    ///   - transferred: called with the bytes of files sent and received.
    init(
        on socket: ListeningSocket, worker: Worker, slowestPace: TransferPace?,
        transferred: MetricsWiring.TransferObserver?
    ) throws(FastCGIError) {
        self.slowestPace = slowestPace
        slot = try RequestSlot(on: socket)
        self.worker = worker
        self.transferred = transferred
    }

    /// An incoming request.
    enum Incoming {
        case request(RequestHead)
        /// The web server asks whether this request, a transfer, may begin. Only a separate location sets this.
        case admission(RequestHead)
        /// From this host itself: only a separate location of the web server sets this, never a client.
        case page(OperatorPage, isHostClosed: Bool)
    }

    /// Waits for the next request; `nil` if a signal ended the wait.
    func next(wakingSignal: Int32) -> Incoming? {
        guard slot.accept(wakingSignal: wakingSignal) == .request else { return nil }
        worker.begin()
        let isHostClosed = slot.parameter("SYNCD_HOST_CLOSED").map { !$0.isEmpty } ?? false
        if let page = slot.parameter("SYNCD_PAGE").flatMap(OperatorPage.init) {
            return .page(page, isHostClosed: isHostClosed)
        }
        var headers: [RequestHeader: String] = [:]
        for (name, parameter) in Self.headerParameters {
            if let value = slot.parameter(parameter) { headers[name] = value }
        }
        let path = slot.parameter("DOCUMENT_URI") ?? ""
        let isAdmission = slot.parameter("SYNCD_ADMISSION") != nil
        direction = isAdmission ? nil : Self.direction(of: path)
        pace = direction == nil ? nil : slowestPace
        hasUnreadBody = direction == .upload
        if path.hasPrefix("/AppendToUpload") { slot.limitReading(to: RequestHead.silenceLimitOfPieces) }
        if direction == .download, let pace { slot.limitWriting(to: pace.longestStandstill) }
        let head = RequestHead(
            method: slot.parameter("REQUEST_METHOD") ?? "", path: path, query: slot.parameter("QUERY_STRING") ?? "",
            contentLength: slot.parameter("CONTENT_LENGTH").flatMap { StrictDecimal.parse($0.utf8) },
            clientAddress: slot.parameter("REMOTE_ADDR"), requestID: slot.parameter("REQUEST_ID"), headers: headers,
            signInTicket: slot.parameter("SYNCD_SIGNED_IN").flatMap { $0.isEmpty ? nil : $0 },
            admissionLocation: slot.parameter("SYNCD_ADMISSION_LOCATION"),
            streamLocation: slot.parameter("SYNCD_STREAM_LOCATION"),
            address: slot.parameter("SYNCD_ADDRESS"), isHostClosed: isHostClosed)
        missingBytes = head.contentLength ?? 0
        arrivals = ArrivalCoalescing(at: .now)
        return isAdmission ? .admission(head) : .request(head)
    }

    private static func direction(of path: String) -> TransferDirection? {
        let uploads = ["/UploadFile", "/UploadSmallFiles", "/ReuploadFile", "/AppendToUpload"]
        if uploads.contains(where: path.hasPrefix) { return .upload }
        return path.hasPrefix("/DownloadFile") ? .download : nil
    }

    /// A thread that waits for a slow phone is not stuck: nginx decides when to give up on the phone.
    private func waitForPhone() { worker.end() }

    func readBody(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>) throws(ClientGone) -> Int {
        waitForPhone()
        defer { worker.progress() }
        let count: Int
        if direction == .upload {
            count = try readFile(into: &buffer, range)
        } else {
            do { count = try slot.read(into: &buffer, range) } catch { throw ClientGone() }
        }
        if count < range.count { hasUnreadBody = false }
        if direction == .upload { transferred?(count, .upload) }
        return count
    }

    /// Checks the rate whenever bytes arrive, because a phone may send byte by byte; lets the bytes of a slow phone
    /// accumulate.
    private func readFile(
        into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>
    ) throws(ClientGone) -> Int {
        var next = range.lowerBound
        while next < range.upperBound {
            let began = ContinuousClock.now
            if let pause = arrivals.pause(before: missingBytes) { slot.collect(for: pause) }
            let count: Int
            do { count = try slot.readArriving(into: &buffer, next..<range.upperBound) } catch { throw ClientGone() }
            if count == 0 { break }
            next += count
            missingBytes -= Int64(count)
            let now = ContinuousClock.now
            arrivals.arrived(count, at: now)
            try keepPace(count, in: began.duration(to: now))
        }
        return next - range.lowerBound
    }

    private func keepPace(_ bytes: Int, in time: Duration) throws(ClientGone) {
        pace?.moved(bytes, in: time)
        if let pace, !pace.isKept { throw ClientGone(.tooSlow) }
    }

    func goOn(onThreadOf other: any ClientConnection) {
        guard let other = other as? FastCGIConnection else { preconditionFailure("all connections are of one kind") }
        worker = other.worker
        worker.begin()
    }

    func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone) {
        announcesLength = headers.contains { $0.name == "content-length" }
        // nginx copies it into the status line, where only a space and the phrase may follow (RFC 9112, section 4).
        var text = "Status: \(status) \(HTTPStatus.phrase(status))\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        text += "\r\n"
        let bytes = Array(text.utf8)
        hasStarted = false
        try write(bytes.span)
        hasStarted = true
        replyBuffer = ReplyBuffer()
        lastWrite = .now
    }

    var canWriteWithoutWaiting: Bool { slot.canWriteWithoutWaiting }

    func write(_ bytes: Span<UInt8>) throws(ClientGone) {
        waitForPhone()
        defer { worker.progress() }
        let began = ContinuousClock.now
        do { try slot.write(bytes) } catch { throw ClientGone(error == .timedOut ? .tooSlow : .hungUp) }
        guard direction == .download, hasStarted else { return }
        let now = ContinuousClock.now
        try keepPace(bytes.count, in: began.duration(to: now))
        if let size = replyBuffer.wrote(bytes.count, in: lastWrite.duration(to: now)) {
            slot.useSendBuffer(isLarge: size == .large)
        }
        lastWrite = now
        transferred?(bytes.count, .download)
    }

    func finish() {
        if hasUnreadBody { slot.finishUnread(within: Self.endOfUnread) } else { slot.finish() }
        worker.end()
    }

    func abandon() {
        // A reply that ends before its Content-Length is complete makes nginx close the phone's connection at once.
        if announcesLength { slot.finish() } else { slot.abandon() }
        worker.end()
    }
}
