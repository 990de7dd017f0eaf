import UntrustedInput

/// Dropbox's error body for statuses 401, 409 and 429, parsed by its tags.
///
/// The unions are open: an unknown tag must not cause a failure. `error_summary` has a random suffix and is ignored.
struct DropboxErrorBody: Decodable {
    /// The tags from the outermost union inwards, such as `path`, `conflict`, `file`.
    let tags: [String]
    /// With `incorrect_offset`: the session's offset.
    let correctOffset: Int64?
    /// With status 429: how long to wait.
    let retryAfterSeconds: Double?

    /// The tags joined by slashes, for logs and comparisons.
    var path: String { tags.joined(separator: "/") }

    private enum CodingKeys: String, CodingKey { case error }
    private enum RateKeys: String, CodingKey {
        case reason
        case retryAfter = "retry_after"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let node = try? container.decode(Node.self, forKey: .error) {
            tags = node.tags
            correctOffset = node.correctOffset
            retryAfterSeconds = nil
            return
        }
        // The error of a rate limit is a structure around a union, not a union.
        let rate = try container.nestedContainer(keyedBy: RateKeys.self, forKey: .error)
        tags = try rate.decode(Node.self, forKey: .reason).tags
        correctOffset = nil
        retryAfterSeconds = try rate.decodeIfPresent(Double.self, forKey: .retryAfter)
    }

    init?(_ bytes: [UInt8]) {
        guard let body = try? UntrustedJSON.decode(Self.self, from: bytes) else { return nil }
        self = body
    }

    /// The value of a union: its tag, and the value of the member of that name or of `reason`.
    private struct Node: Decodable {
        let tags: [String]
        let correctOffset: Int64?

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(_ name: String) { stringValue = name }
            init?(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let tag = try container.decode(String.self, forKey: Key(".tag"))
            var inner = try? container.decode(Node.self, forKey: Key(tag))
            // Decodes a member only once; a second attempt would double the work at every level.
            if inner == nil, tag != "reason" { inner = try? container.decode(Node.self, forKey: Key("reason")) }
            tags = [tag] + (inner?.tags ?? [])
            correctOffset =
                inner?.correctOffset ?? (try? container.decode(Int64.self, forKey: Key("correct_offset")))
        }
    }
}
