import Foundation

/// What is said about a photo, beginning with its title: a file of its own, which everybody may change at any time.
struct Discussion: Codable {
    /// Something that somebody said.
    struct Message: Codable, Hashable {
        /// Tells messages apart on all devices.
        var id: UUID
        var author: String
        var date: Date
        var text: String
    }

    /// What the photo is called.
    let title: String
    private(set) var messages: [Message] = []

    /// A discussion in which nothing was said.
    init(title: String) {
        self.title = title
    }

    /// Reads a file.
    init(contentsOf file: URL) throws {
        self = try Self.decoder.decode(Self.self, from: Data(contentsOf: file))
    }

    /// Writes a file, whole or not at all.
    func write(to file: URL) throws {
        try Self.encoder.encode(self).write(to: file, options: .atomic)
    }

    /// Adds what somebody says now.
    mutating func say(_ text: String, author: String) {
        merge([Message(id: UUID(), author: author, date: Date(), text: text)])
    }

    /// Takes over what others said. The result is the same in whatever order discussions meet, and however often.
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
