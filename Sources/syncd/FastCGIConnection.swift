import Endpoints
import FastCGI
import Metrics
import SyncProtocol

/// A phone behind nginx, as the endpoints see it; one per worker thread, for all its requests.
final class FastCGIConnection: ClientConnection {
    private static let headerParameters = RequestHeader.allCases.map { ($0, $0.fastCGIParameter) }

    private var slot: RequestSlot
    private let activity: WorkerActivity
    private let transferred: MetricsWiring.TransferObserver?
    private var announcesLength = false
    /// Of a file whose bytes this request moves.
    private var direction: TransferDirection?
    /// Whether the reply's head is sent: what follows is the file.
    private var hasStarted = false

    /// - Parameter transferred: told of the bytes of files, as they come and go.
    init(
        on socket: ListeningSocket, activity: WorkerActivity, transferred: MetricsWiring.TransferObserver?
    ) throws(FastCGIError) {
        slot = try RequestSlot(on: socket)
        self.activity = activity
        self.transferred = transferred
    }

    /// What somebody asks for.
    enum Incoming {
        case request(RequestHead)
        /// From this host itself: only a location of the web server's own says so, never a client.
        case page(OperatorPage)
    }

    /// Waits for the next request; `nil` if something else ended the wait.
    func next(wakingSignal: Int32) -> Incoming? {
        guard slot.accept(wakingSignal: wakingSignal) == .request else { return nil }
        activity.begin()
        if let page = slot.parameter("SYNCD_PAGE").flatMap(OperatorPage.init) { return .page(page) }
        var headers: [RequestHeader: String] = [:]
        for (name, parameter) in Self.headerParameters {
            if let value = slot.parameter(parameter) { headers[name] = value }
        }
        let path = slot.parameter("DOCUMENT_URI") ?? ""
        direction = transferred == nil ? nil : Self.direction(of: path)
        return .request(
            RequestHead(
                method: slot.parameter("REQUEST_METHOD") ?? "", path: path, query: slot.parameter("QUERY_STRING") ?? "",
                contentLength: slot.parameter("CONTENT_LENGTH").flatMap { Int64($0) },
                requestID: slot.parameter("REQUEST_ID"), headers: headers))
    }

    private static func direction(of path: String) -> TransferDirection? {
        if path.hasPrefix("/UploadFile") { return .upload }
        return path.hasPrefix("/DownloadFile") ? .download : nil
    }

    /// A thread that waits for a phone is not stuck, however slow the phone is: nginx decides when to give up on it.
    private func waitForPhone() { activity.end() }

    func readBody(into buffer: inout MutableSpan<UInt8>) throws(ClientGone) -> Int {
        waitForPhone()
        defer { activity.progress() }
        let count: Int
        do { count = try slot.read(into: &buffer) } catch { throw ClientGone() }
        if direction == .upload { transferred?(count, .upload) }
        return count
    }

    func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone) {
        announcesLength = headers.contains { $0.name == "content-length" }
        var text = "Status: \(status)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        text += "\r\n"
        let bytes = Array(text.utf8)
        hasStarted = false
        try write(bytes.span)
        hasStarted = true
    }

    var canWriteWithoutWaiting: Bool { slot.canWriteWithoutWaiting }

    func write(_ bytes: Span<UInt8>) throws(ClientGone) {
        waitForPhone()
        defer { activity.progress() }
        do { try slot.write(bytes) } catch { throw ClientGone() }
        if direction == .download, hasStarted { transferred?(bytes.count, .download) }
    }

    func finish() {
        slot.finish()
        activity.end()
    }

    func abandon() {
        // A reply that ends before its Content-Length is complete makes nginx cut the phone off at once. A connection that
        // just ends looks to nginx, while it does not buffer, like the proper end of a reply; where it buffers, which it
        // does wherever no length is announced, it cuts the phone off then, too.
        if announcesLength { slot.finish() } else { slot.abandon() }
        activity.end()
    }
}
