/// A body of the type `multipart` (RFC 2046, section 5.1): parts with headers, between boundaries.
///
/// Read strictly: the line break before a delimiter belongs to the delimiter. Lines end in CR LF, or all of them in LF
/// alone, as Google's own Python client sends them.
struct MultipartBody {
    /// The parts in order; names of headers in lower case.
    let parts: [(headers: [String: String], content: ArraySlice<UInt8>)]

    /// What is wrong with a body.
    struct Malformed: Error, Equatable {
        let message: String
    }

    /// Parses a body.
    /// - Parameters:
    ///   - subtype: `related` or `form-data`.
    ///   - header: the value of `Content-Type`.
    init(_ subtype: String, contentType header: String, body: [UInt8]) throws(Malformed) {
        guard header.lowercased().hasPrefix("multipart/\(subtype)"), let boundary = Self.boundary(header) else {
            throw Malformed(message: "Content-Type is not multipart/\(subtype) with a boundary")
        }
        let opening = Array("--\(boundary)".utf8)
        guard body.starts(with: opening) else {
            throw Malformed(message: "the body does not begin with the boundary")
        }
        var position = opening.count
        let lineBreak: [UInt8] = position < body.count && body[position] == 0x0a ? [0x0a] : [0x0d, 0x0a]
        let delimiter = lineBreak + opening
        var parts: [(headers: [String: String], content: ArraySlice<UInt8>)] = []
        while true {
            let after = body[position...].prefix(2)
            if after.elementsEqual("--".utf8) { break }
            guard after.starts(with: lineBreak) else {
                throw Malformed(message: "no line break follows the boundary")
            }
            guard let end = Self.find(delimiter, in: body, from: position) else {
                throw Malformed(message: "the closing boundary is missing")
            }
            position += lineBreak.count
            parts.append(try Self.part(body, from: position, to: max(end, position), lineBreak: lineBreak))
            position = end + delimiter.count
        }
        self.parts = parts
    }

    private static func boundary(_ header: String) -> String? {
        for parameter in header.split(separator: ";").dropFirst() {
            let halves = parameter.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, halves[0].filter({ $0 != " " }).lowercased() == "boundary" else { continue }
            var value = halves[1]
            while value.last == " " { value.removeLast() }
            if value.hasPrefix("\""), value.hasSuffix("\""), value.count > 2 { value = value.dropFirst().dropLast() }
            return value.isEmpty ? nil : String(value)
        }
        return nil
    }

    private static func part(
        _ body: [UInt8], from start: Int, to end: Int, lineBreak: [UInt8]
    ) throws(Malformed) -> (headers: [String: String], content: ArraySlice<UInt8>) {
        var headers: [String: String] = [:]
        var position = start
        while true {
            guard let lineEnd = find(lineBreak, in: body, from: position), lineEnd <= end else {
                throw Malformed(message: "a part's headers do not end with an empty line")
            }
            if lineEnd == position { return (headers, body[min(position + lineBreak.count, end)..<end]) }
            let halves = String(decoding: body[position..<lineEnd], as: UTF8.self).split(
                separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else { throw Malformed(message: "a part has a header without a colon") }
            headers[halves[0].lowercased()] = String(halves[1].drop { $0 == " " })
            position = lineEnd + lineBreak.count
        }
    }

    /// Offset at which `pattern` occurs first, at `start` or after it.
    private static func find(_ pattern: [UInt8], in body: [UInt8], from start: Int) -> Int? {
        var position = start
        while position + pattern.count <= body.count {
            guard let candidate = body[position...(body.count - pattern.count)].firstIndex(of: pattern[0]) else {
                return nil
            }
            if body[candidate..<candidate + pattern.count].elementsEqual(pattern) { return candidate }
            position = candidate + 1
        }
        return nil
    }
}
