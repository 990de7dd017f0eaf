import SyncProtocol
import UntrustedInput

/// Reads the body of an UploadSmallFiles request as it arrives: the list of files, then their contents one by one.
///
/// The list gives the length of each part, so the contents may contain the delimiter, and at most one file is in memory.
/// A delimiter that is not where the list says is a malformed body.
struct SmallFileReader {
    private static let chunkBytes = 16 * 1024
    /// The number of bytes to read at a time if the length is unknown.
    private static let aheadBytes = 4 * 1024
    private static let maximumHeadBytes = 4 * 1024

    private let body: RequestBody
    private let limits: SmallFileLimits
    private let announcedBytes: Int64
    /// A line break, two hyphens, and the boundary.
    private let delimiter: [UInt8]
    /// Bytes that were read before they were needed, from ``next`` on.
    private var buffer: [UInt8] = Array("\r\n".utf8)
    private var next = 0

    /// - Parameter announcedBytes: the length of the body.
    init(_ body: RequestBody, _ form: SmallFileForm, announcedBytes: Int64, _ limits: SmallFileLimits) {
        self.body = body
        self.limits = limits
        self.announcedBytes = announcedBytes
        // The first delimiter has no line break before it; the buffer begins with one.
        delimiter = Array("\r\n--\(form.boundary)".utf8)
    }

    private struct List: Decodable {
        var files: [SmallFile]
    }

    /// Reads the first part.
    /// - Throws: ``ErrorCode/badRequest``, ``ErrorCode/parameterOutOfRange`` if there are too many files, ``ClientGone``.
    mutating func files() throws -> [SmallFile] {
        try passDelimiter()
        try beginPart()
        let text = try bytesBefore(delimiter, atMost: SmallFileLimits.maximumListBytes)
        guard let files = try? UntrustedJSON.decode(List.self, from: text).files else {
            throw Self.malformed("its first part is not the list of files")
        }
        guard files.count <= limits.maximumFiles else {
            throw Refusal(.parameterOutOfRange, "one request may contain \(limits.maximumFiles) files")
        }
        let sizes = files.map(\.sizeBytes)
        guard sizes.allSatisfy({ 0...announcedBytes ~= $0 }), sizes.reduce(0, +) <= announcedBytes else {
            throw Self.malformed("the files are longer than the body")
        }
        try passDelimiter()
        return files
    }

    /// Reads the contents of the next file.
    /// - Parameter keepAlive: called after every 16 KiB; an error that it throws ends the request.
    /// - Throws: ``ErrorCode/badRequest``, ``ErrorCode/bodyLengthMismatch`` if the body ends early, ``ClientGone``.
    mutating func contents(_ count: Int, keepAlive: () throws -> Void) throws -> [UInt8] {
        try beginPart()
        var contents = [UInt8](repeating: 0, count: count)
        let ready = min(count, buffer.count - next)
        contents.replaceSubrange(..<ready, with: buffer[next..<next + ready])
        next += ready
        for start in stride(from: ready, to: count, by: Self.chunkBytes) {
            let chunk = start..<min(start + Self.chunkBytes, count)
            guard try body.read(into: &contents, chunk) == chunk.count else { throw Refusal(.bodyLengthMismatch) }
            try keepAlive()
        }
        try passDelimiter()
        return contents
    }

    /// The same without keeping the bytes.
    mutating func skip(_ count: Int64, keepAlive: () throws -> Void) throws {
        try beginPart()
        var missing = count
        while missing > 0 {
            if next == buffer.count { try fill() }
            let skipped = min(Int64(buffer.count - next), missing)
            next += Int(skipped)
            missing -= skipped
            try keepAlive()
        }
        try passDelimiter()
    }

    /// Checks that no part follows.
    mutating func end() throws {
        guard try take(2) == Array("--".utf8) else { throw Self.malformed("it has more parts than files") }
    }

    // MARK: Framing

    private static func malformed(_ reason: String) -> Refusal {
        Refusal(.badRequest, "the body is malformed: \(reason)")
    }

    private mutating func passDelimiter() throws {
        guard try take(delimiter.count) == delimiter else {
            throw Self.malformed("a part does not have the length that the list states")
        }
    }

    /// Reads the rest of a delimiter, and the headers of a part, which are ignored.
    private mutating func beginPart() throws {
        guard try take(2) == Array("\r\n".utf8) else { throw Self.malformed("it has fewer parts than files") }
        // A part without headers begins with the empty line.
        next -= 2
        _ = try bytesBefore(Array("\r\n\r\n".utf8), atMost: Self.maximumHeadBytes)
        next += 4
    }

    private mutating func take(_ count: Int) throws -> [UInt8] {
        while buffer.count - next < count { try fill() }
        defer { next += count }
        return Array(buffer[next..<next + count])
    }

    private mutating func bytesBefore(_ pattern: [UInt8], atMost limit: Int) throws -> [UInt8] {
        var searched = 0
        while true {
            while buffer.count - next - searched >= pattern.count {
                let start = next + searched
                if buffer[start] == pattern[0], buffer[start..<start + pattern.count].elementsEqual(pattern) {
                    defer { next = start }
                    return Array(buffer[next..<start])
                }
                searched += 1
                guard searched <= limit else { throw Self.malformed("a part is too long") }
            }
            try fill()
        }
    }

    private mutating func fill() throws {
        buffer.removeFirst(next)
        next = 0
        let used = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.aheadBytes))
        let count = try body.read(into: &buffer, used..<buffer.count)
        buffer.removeLast(Self.aheadBytes - count)
        guard count > 0 else { throw Refusal(.bodyLengthMismatch) }
    }
}
