import Endpoints
import FastCGI
import SyncProtocol

/// A phone behind nginx, as the endpoints see it; one per worker thread, for all its requests.
final class FastCGIConnection: ClientConnection {
    private static let headerParameters = RequestHeader.allCases.map { ($0, $0.fastCGIParameter) }

    private var slot: RequestSlot
    private let activity: WorkerActivity
    private var announcesLength = false

    init(on socket: ListeningSocket, activity: WorkerActivity) throws(FastCGIError) {
        slot = try RequestSlot(on: socket)
        self.activity = activity
    }

    /// Waits for the next request; `nil` if something else ended the wait.
    func next(wakingSignal: Int32) -> RequestHead? {
        guard slot.accept(wakingSignal: wakingSignal) == .request else { return nil }
        activity.begin()
        var headers: [RequestHeader: String] = [:]
        for (name, parameter) in Self.headerParameters {
            if let value = slot.parameter(parameter) { headers[name] = value }
        }
        return RequestHead(
            method: slot.parameter("REQUEST_METHOD") ?? "", path: slot.parameter("DOCUMENT_URI") ?? "",
            query: slot.parameter("QUERY_STRING") ?? "",
            contentLength: slot.parameter("CONTENT_LENGTH").flatMap { Int64($0) },
            requestID: slot.parameter("REQUEST_ID") ?? "-", headers: headers)
    }

    /// A thread that waits for a phone is not stuck, however slow the phone is: nginx decides when to give up on it.
    private func waitForPhone() { activity.end() }

    func readBody(into buffer: inout MutableSpan<UInt8>) throws(ClientGone) -> Int {
        waitForPhone()
        defer { activity.progress() }
        do { return try slot.read(into: &buffer) } catch { throw ClientGone() }
    }

    func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone) {
        announcesLength = headers.contains { $0.name == "content-length" }
        var text = "Status: \(status)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        text += "\r\n"
        let bytes = Array(text.utf8)
        try write(bytes.span)
    }

    var canWriteWithoutWaiting: Bool { slot.canWriteWithoutWaiting }

    func write(_ bytes: Span<UInt8>) throws(ClientGone) {
        waitForPhone()
        defer { activity.progress() }
        do { try slot.write(bytes) } catch { throw ClientGone() }
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
