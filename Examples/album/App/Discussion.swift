import Foundation

/// A photo's title and comments: a separate file, which everybody may change at any time.
struct Discussion: Codable {
    /// A comment.
    struct Message: Codable, Hashable {
        /// Unique across all devices.
        var id: UUID
        var author: String
        var date: Date
        var text: String
    }

    /// The photo's title.
    let title: String
    private(set) var messages: [Message] = []

    /// A discussion without comments.
    init(title: String) {
        self.title = title
    }

    /// Reads a file.
    init(contentsOf file: URL) throws {
        self = try Self.decoder.decode(Self.self, from: Data(contentsOf: file))
    }

    /// Writes a file atomically.
    func write(to file: URL) throws {
        try Self.encoder.encode(self).write(to: file, options: .atomic)
    }

    /// Adds a comment with the current date.
    mutating func say(_ text: String, author: String) {
        merge([Message(id: UUID(), author: author, date: Date(), text: text)])
    }

    /// Adds others' comments. Merging is commutative and idempotent: order and repetition do not affect the result.
    mutating func merge(_ others: [Message]) {
        let known = Set(messages.map(\.id))
        messages += others.filter { !known.contains($0.id) }
        messages.sort { ($0.date, $0.id.uuidString) < ($1.date, $1.id.uuidString) }
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .secondsSince1970
        encoder.outputFormatting = [.sortedKeys]
        return encoder
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        return decoder
    }
}
