public import Foundation
public import HTTPTypes
import SyncProtocol
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Android)
    import Android
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The received bytes of a file, across several attempts to download it (RFC 9110, sections 13.1.5 and 14).
///
/// An executor that supports it writes the body to ``file`` while it arrives, and leaves it there if the connection is
/// lost; the next attempt then requests the rest of the same bytes.
public final class PartialDownload: Sendable {
    /// The file with the bytes that have arrived; it exists only between ``begin(_:)`` and the end of the download.
    public let file: URL

    private struct State {
        /// The reply that began the download.
        var whole: HTTPResponse?
        /// The entity tag of the bytes; nil if they cannot be resumed.
        var tag: String?
        var receivedBytes: Int64 = 0
        /// Not nil during an attempt.
        var open: OpenFile?
        /// Whether the file exists under its name.
        var isOnDisk = false
    }

    private let state = Mutex(State())

    /// - Parameter file: an unused name in an existing folder.
    public init(_ file: URL) {
        self.file = file
    }

    deinit { discard() }

    /// The number of bytes that have arrived.
    public var receivedBytes: Int64 { state.withLock { $0.receivedBytes } }

    /// The headers that request the missing bytes; none if all are missing.
    public var requestHeaders: HTTPFields {
        state.withLock { state in
            guard let tag = state.tag, state.receivedBytes > 0 else { return [:] }
            var fields = HTTPFields()
            fields[.range] = "bytes=\(state.receivedBytes)-"
            fields[.ifRange] = tag
            return fields
        }
    }

    /// Accepts a reply's head.
    /// - Returns: whether the body is the file, or the rest of it, and must be passed to ``append(_:)``; `false` for a
    ///   body without file contents.
    /// - Throws: if the file cannot be written; ``TransportFailure`` if the reply does not have the requested bytes.
    public func begin(_ response: HTTPResponse) throws -> Bool {
        try state.withLock { state in
            switch response.status.code {
            case 200:
                state = State(isOnDisk: state.isOnDisk)
                state.whole = response
                state.tag = Self.tag(of: response)
            case 206:
                let range = response.headerFields[.contentRange] ?? ""
                guard state.whole != nil, range.hasPrefix("bytes \(state.receivedBytes)-") else {
                    throw TransportFailure(.malformed)
                }
            default:
                return false
            }
            let open = try OpenFile(file.path, O_WRONLY | O_CREAT)
            state.isOnDisk = true
            try open.truncate(to: state.receivedBytes)
            state.open = open
            return true
        }
    }

    /// Stores the next bytes.
    public func append(_ bytes: Data) throws { try append(bytes.bytes) }

    func append(_ bytes: RawSpan) throws {
        // The closure cannot capture a span.
        let (open, position) = state.withLock { ($0.open, $0.receivedBytes) }
        guard let open else { throw TransportFailure(.malformed) }
        try open.write(bytes, at: position)
        state.withLock { $0.receivedBytes = position + Int64(bytes.byteCount) }
    }

    /// Ends an attempt; the received bytes are kept.
    public func end() { state.withLock { $0.open = nil } }

    /// Call when the file is complete and has been moved away: another attempt starts from the beginning.
    public func complete() {
        state.withLock { state in
            state.tag = nil
            state.isOnDisk = false
        }
    }

    /// Deletes the received bytes: the next attempt starts from the beginning.
    public func discard() {
        let isOnDisk = state.withLock { state in
            defer { state = State() }
            return state.isOnDisk
        }
        if isOnDisk { try? FileCalls.remove(file.path) }
    }

    /// The reply to the download as if it had arrived in one piece: with the status and headers of the first reply.
    func assembled(_ reply: HTTPReply) -> HTTPReply {
        guard reply.response.status.code == 206, let whole = state.withLock({ $0.whole }) else { return reply }
        var reply = reply
        reply.response = whole
        return reply
    }

    /// The strong entity tag of unencoded bytes.
    private static func tag(of response: HTTPResponse) -> String? {
        guard response.headerFields[.contentEncoding] == nil,
            let tag = response.headerFields[ResponseHeader.entityTag.fieldName], tag.hasPrefix("\"")
        else { return nil }
        return tag
    }
}
