import Foundation
import SyncService

/// A phone in memory: sends a body, and keeps the reply.
final class FakeConnection: ClientConnection {
    enum End { case finished, abandoned }

    private let bytes: [UInt8]?
    private let bodyBytes: Int64
    /// The number of bytes of the body after which the phone disconnects.
    var hangsUpAfterBytes: Int64?
    /// The number of bytes of the reply's body after which the phone disconnects; 0: before the head.
    var takesReplyBytes: Int64?

    /// The number of bytes of the body after which the phone is too slow.
    var isTooSlowAfterBytes: Int64?

    private(set) var readBytes: Int64 = 0
    private(set) var status: Int?
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var body: [UInt8] = []
    private(set) var end: End?
    private(set) var starts = 0

    init(body: [UInt8] = []) {
        bodyBytes = Int64(body.count)
        bytes = body
    }

    /// A body of `zeros` zero bytes, which needs no memory.
    init(zeros: Int64) {
        bodyBytes = zeros
        bytes = nil
    }

    /// Called before each read.
    var beforeRead: () -> Void = {}

    func readBody(into buffer: inout MutableSpan<UInt8>, _ range: Range<Int>) throws(ClientGone) -> Int {
        beforeRead()
        if let isTooSlowAfterBytes, readBytes >= isTooSlowAfterBytes { throw ClientGone(.tooSlow) }
        let available = min(bodyBytes, hangsUpAfterBytes ?? bodyBytes) - readBytes
        let count = Int(min(Int64(range.count), available))
        // Zeros need not be written, because all buffers used with them are fresh.
        if let bytes {
            // As a whole: a debug build takes seconds for megabytes of single bytes.
            let from = Int(readBytes)..<Int(readBytes) + count
            let to = range.lowerBound..<range.lowerBound + count
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe buffer.withUnsafeMutableBytes { buffer in
                    unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[to]).copyBytes(from: bytes[from])
                }
            }
        }
        readBytes += Int64(count)
        if let hangsUpAfterBytes, readBytes >= hangsUpAfterBytes, count < range.count { throw ClientGone() }
        return count
    }

    func start(status: Int, headers: [(name: String, value: String)]) throws(ClientGone) {
        starts += 1
        if takesReplyBytes == 0 { throw ClientGone() }
        self.status = status
        self.headers = headers
    }

    /// Whether the phone keeps up with the reply; otherwise it accepts nothing until the server waits for it.
    var keepsUp = true
    /// The number of calls after which the phone no longer keeps up.
    var keepsUpFor: Int?
    private(set) var writes = 0
    private(set) var largestWrite = 0
    var canWriteWithoutWaiting: Bool {
        guard let left = keepsUpFor else { return keepsUp }
        keepsUpFor = max(0, left - 1)
        return left > 0
    }

    func write(_ bytes: Span<UInt8>) throws(ClientGone) {
        writes += 1
        largestWrite = max(largestWrite, bytes.count)
        unsafe bytes.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
        if let takesReplyBytes, body.count > takesReplyBytes { throw ClientGone() }
    }

    private(set) var wentOn = 0
    func goOn(onThreadOf other: any ClientConnection) { wentOn += 1 }

    func finish() { end = .finished }
    func abandon() { end = .abandoned }

    // MARK: The phone's view of the reply

    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    private func object(_ bytes: [UInt8]) -> [String: Any] {
        ((try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]) ?? [:]
    }

    /// The body as a JSON object.
    var json: [String: Any] { object(body) }
    /// The JSON object in the header.
    var messageParams: [String: Any] { object(Array((header("syncserver-message-params") ?? "").utf8)) }
    /// The error's code.
    var code: String? { json["code"] as? String }
}
