import Foundation
import Glibc

@testable import SyncDirectory

/// A file's name in an open folder, for atomic changes.
struct FilePlace {
    private let place: FileCalls.Place

    init(_ url: URL) throws {
        place = FileCalls.Place(
            folder: try FileCalls.openFolder(url.deletingLastPathComponent().path, in: AT_FDCWD),
            name: url.lastPathComponent)
    }

    func move(to other: FilePlace) throws { try FileCalls.move(place, to: other.place) }

    func exchange(with other: FilePlace) throws { try FileCalls.exchange(place, with: other.place) }

    func contents() throws -> String {
        let file = try FileCalls.openFile(place.name, in: place.folder.number)
        let handle = FileHandle(fileDescriptor: file.number, closeOnDealloc: false)
        return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }
}
