/// The body of a reply that is not a success, as a client reads it; ``ErrorBody`` is what a server writes.
///
/// Everything may be missing: servers of older generations send no more than `error` and, if something is gone,
/// `goneReason`, and what stands between client and server sends what it likes.
public struct ReceivedErrorBody: Sendable, Hashable, Decodable {
    /// One sentence for people, as the server wrote it.
    public let error: String?
    /// Stable and machine-readable.
    public let code: String?
    /// Under which the server logged the request.
    public let requestId: String?
    /// Whether the same request may succeed later.
    public let retryable: Bool?
    /// Why something is out of reach for good; nil also for a reason that this version does not know.
    public let goneReason: GoneReason?
    /// The status once more.
    public let status: Int?
    /// What the status is called.
    public let title: String?
    /// The sentence as problem details have it (RFC 9457, section 3.1.4).
    public let detail: String?

    private enum CodingKeys: String, CodingKey {
        case error, code, requestId, retryable, goneReason, status, title, detail
    }

    /// Decodes a body; a member of another type than expected reads as if it were missing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func member<Value: Decodable>(_ key: CodingKeys) -> Value? {
            try? container.decodeIfPresent(Value.self, forKey: key)
        }
        error = member(.error)
        code = member(.code)
        requestId = member(.requestId)
        retryable = member(.retryable)
        goneReason = try? container.knownWord(.goneReason)
        status = try? container.optionalNumber(.status)
        title = member(.title)
        detail = member(.detail)
    }
}
