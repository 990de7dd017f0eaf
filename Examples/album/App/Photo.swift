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
    /// The type of photos; the sandbox's server accepts JPEG.
    static let picture = MIMEType("image/jpeg")
    /// The type of discussions, which are JSON.
    static let discussion = MIMEType("text/plain")
}
