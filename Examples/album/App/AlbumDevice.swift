import Foundation
import SyncAccounts
import SyncClient

/// A person's device with the app: the files that the app shows, and the library beside them.
///
/// Everything that the app shows is in its own folder, by the files' UUIDs. Which files there are, and which belong
/// together, the library knows.
final class AlbumDevice: SyncServerDelegate {
    let settings: Settings
    let client: SyncServer
    private let folder: URL

    /// Opens what is in a device's folder.
    /// - Throws: ``AlbumError/nobodySignedIn``; `SyncError` if another process works with it.
    init(_ folder: URL) throws {
        settings = try Settings(folder)
        self.folder = folder.appending(path: "files")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        var configuration = SyncServer.Configuration(
            serverURL: settings.server, storeFolder: folder.appending(path: "store"), cloudFolderName: "Album")
        // Commands end soon; they sync when they are told to.
        configuration.syncsPendingUploadsAtLaunch = false
        let files = self.folder
        // Two people who say something at the same time have both said it. Who removes a photo ends its discussion.
        configuration.conflictResolver = .merge(deletionsWin: true) { conflict in
            let file = files.appending(path: conflict.attributes.fileUUID.rawValue)
            var discussion = try Discussion(contentsOf: file)
            if let theirs = conflict.serverFile { discussion.merge(try Discussion(contentsOf: theirs).messages) }
            try discussion.write(to: file)
            return MergedFile(file: file)
        }
        client = try SyncServer(
            configuration: configuration,
            credentialProvider: SandboxSignIn(sandbox: settings.sandbox, accountID: settings.accountID))
        client.delegate = self
    }

    /// Where the app keeps a file.
    func url(of file: SyncAttributes) -> URL { folder.appending(path: file.fileUUID.rawValue) }

    // MARK: What people do

    /// The photos that are here.
    func photos(in album: SharingGroupUUID) -> [Photo] {
        Photo.all(in: client.files(inSharingGroup: album)).filter { photo in
            [photo.picture, photo.discussion].allSatisfy { FileManager.default.fileExists(atPath: url(of: $0).path) }
        }
    }

    /// Adds a photo. It is here at once, and with the others after a sync.
    func add(_ original: URL, title: String, to album: SharingGroupUUID) throws {
        let fileGroup = FileGroupUUID(UUID().uuidString)
        let picture = SyncAttributes(
            fileUUID: try .make(), sharingGroupUUID: album, mimeType: .picture, fileGroupUUID: fileGroup)
        let discussion = SyncAttributes(
            fileUUID: try .make(), sharingGroupUUID: album, mimeType: .discussion, fileGroupUUID: fileGroup)
        try FileManager.default.copyItem(at: original, to: url(of: picture))
        try Discussion(title: title).write(to: url(of: discussion))
        // The picture never changes, so the library needs no copy of it; the discussion does.
        try client.uploadImmutable(localFile: client.location(of: url(of: picture)), withAttributes: picture)
        try client.uploadCopy(localFile: client.location(of: url(of: discussion)), withAttributes: discussion)
    }

    /// Says something about a photo.
    func comment(_ text: String, on photo: Photo) throws {
        let file = url(of: photo.discussion)
        var discussion = try Discussion(contentsOf: file)
        discussion.say(text, author: settings.person)
        try discussion.write(to: file)
        try client.uploadCopy(localFile: client.location(of: file), withAttributes: photo.discussion)
    }

    /// What is said about a photo.
    func discussion(of photo: Photo) throws -> Discussion {
        try Discussion(contentsOf: url(of: photo.discussion))
    }

    /// Removes a photo, for everybody.
    func remove(_ photo: Photo) throws {
        let files = [photo.picture, photo.discussion]
        try client.delete(filesWithUUIDs: files.map(\.fileUUID))
        for file in files { try? FileManager.default.removeItem(at: url(of: file)) }
    }

    // MARK: What others did

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        for operation in group {
            let own = url(of: operation.attributes)
            switch operation.kind {
            case .file(let location, _):
                // The same file may come twice, so it replaces what is here.
                guard let downloaded = client.url(of: location) else { continue }
                try Data(contentsOf: downloaded).write(to: own, options: .atomic)
            case .deletion: try? FileManager.default.removeItem(at: own)
            case .appMetaData, .fileGone: break
            }
        }
    }

    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws {
        try await syncServerFileGroupDownloadComplete(group: group)
    }
}

/// Why the app cannot do something.
enum AlbumError: Error, CustomStringConvertible {
    case nobodySignedIn
    case unknownPerson
    case noSuchAlbum(String)
    case noSuchPhoto(String)
    case noPicture(String)
    case notAnInvitation

    var description: String {
        switch self {
        case .nobodySignedIn: "Nobody is signed in on this device; use album sign-in."
        case .unknownPerson: "The sandbox does not know this person, or does not answer."
        case .noSuchAlbum(let name): "You are in no album called \(name); album albums lists yours."
        case .noSuchPhoto(let number): "There is no photo \(number); album list shows all."
        case .noPicture(let path): "\(path) is no JPEG picture."
        case .notAnInvitation: "That is no invitation's code."
        }
    }
}

extension FileUUID {
    static func make() throws -> FileUUID {
        guard let made = FileUUID(UUID().uuidString) else { throw CocoaError(.coderInvalidValue) }
        return made
    }
}
