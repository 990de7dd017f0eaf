import Foundation
import SyncClient

/// A photo with its discussion: two files in one file group, which arrive together.
struct Photo {
    let picture: SyncAttributes
    let discussion: SyncAttributes

    /// The photos among the files of an album, oldest first.
    static func all(in files: [SyncAttributes]) -> [Photo] {
        let discussions = Dictionary(
            files.filter { $0.mimeType == .discussion }.map { ($0.fileGroupUUID, $0) }, uniquingKeysWith: { $1 })
        return files.filter { $0.mimeType == .picture }
            .compactMap { picture in
                discussions[picture.fileGroupUUID].map { Photo(picture: picture, discussion: $0) }
            }
            .sorted { ($0.date, $0.picture.fileUUID.rawValue) < ($1.date, $1.picture.fileUUID.rawValue) }
    }

    /// A photo that was not sent yet has no server date, and sorts last.
    private var date: Int64 { picture.creationDate?.secondsSince1970 ?? .max }
}

extension MIMEType {
    /// The type of photos.
    static let picture = jpeg
    /// The type of discussions, which are JSON. A released album keeps the type of its files: albums that exist have it.
    static let discussion = text
}

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
