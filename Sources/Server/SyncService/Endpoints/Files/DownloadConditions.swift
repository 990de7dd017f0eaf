import SyncProtocol

/// The conditions in a download's headers: send bytes only if they differ from the client's, and send only a range (RFC
/// 9110, sections 13 and 14).
struct DownloadConditions {
    private let ifNoneMatch: String?
    private let ifRange: String?
    private let range: RequestedRange?

    init(_ head: RequestHead) {
        ifNoneMatch = head.header(.ifNoneMatch)
        ifRange = head.header(.ifRange)
        range = head.header(.range).flatMap { RequestedRange($0) }
    }

    /// Whether the request continues an earlier download: it requests a range of the bytes identified by a tag.
    var resumes: Bool { range != nil && ifRange != nil }

    /// Whether the request continues a download of these bytes.
    func resumes(_ tag: EntityTag) -> Bool { range != nil && ifRange == tag.text }

    /// Whether the request is unconditional.
    var isAbsent: Bool { range == nil && ifNoneMatch == nil }

    /// Whether the client has these bytes.
    func isMet(by tag: EntityTag) -> Bool { ifNoneMatch.map { tag.isNamed(by: $0) } ?? false }

    /// The range to send; `nil` for all bytes.
    ///
    /// `If-Range` is compared strongly (section 13.1.5): a weak tag or a date never matches. No range of an empty file
    /// can be expressed, so it is sent as a whole.
    /// - Throws: ``EndpointError/rangeNotSatisfiable(length:)``.
    func positions(of tag: EntityTag, length: Int64) throws -> ClosedRange<Int64>? {
        guard let range, length > 0, ifRange.map({ $0 == tag.text }) ?? true else { return nil }
        guard let positions = range.positions(inLength: length) else {
            throw EndpointError.rangeNotSatisfiable(length: length)
        }
        return positions
    }
}
