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
    /// - Throws: `SyncError` if another process works with it.
    init(_ folder: URL, _ settings: Settings) throws {
        self.settings = settings
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

    /// Turns to an album, or to a new one. The library collects changes of one group at a time: those of another one are
    /// complete now, and are sent with its next sync.
    func turn(to album: SharingGroupUUID) throws {
        let open = client.pendingReport().changes.first { !$0.isClosed && $0.sharingGroupUUID != album }
        if let open { try client.closeQueue(sharingGroupUUID: open.sharingGroupUUID) }
    }

    /// Adds a photo. It is here at once, and with the others after a sync.
    func add(_ original: URL, title: String, to album: SharingGroupUUID) throws {
        let fileGroup = FileGroupUUID(UUID().uuidString)
        let picture = SyncAttributes(
            fileUUID: try .make(), sharingGroupUUID: album, mimeType: .picture, fileGroupUUID: fileGroup)
        let discussion = SyncAttributes(
            fileUUID: try .make(), sharingGroupUUID: album, mimeType: .discussion, fileGroupUUID: fileGroup)
        try turn(to: album)
        do {
            try FileManager.default.copyItem(at: original, to: url(of: picture))
            try Discussion(title: title).write(to: url(of: discussion))
            // The picture never changes, so the library needs no copy of it; the discussion does.
            try client.uploadImmutable(localFile: client.location(of: url(of: picture)), withAttributes: picture)
            try client.uploadCopy(localFile: client.location(of: url(of: discussion)), withAttributes: discussion)
        } catch {
            // The person may only read, for instance.
            try? client.withdraw(forFileUUID: picture.fileUUID)
            for file in [picture, discussion] { try? FileManager.default.removeItem(at: url(of: file)) }
            throw error
        }
    }

    /// Says something about a photo.
    func comment(_ text: String, on photo: Photo) throws {
        let file = url(of: photo.discussion)
        let before = try Discussion(contentsOf: file)
        var discussion = before
        discussion.say(text, author: settings.person)
        try turn(to: photo.discussion.sharingGroupUUID)
        try discussion.write(to: file)
        do {
            try client.uploadCopy(localFile: client.location(of: file), withAttributes: photo.discussion)
        } catch {
            // What cannot be queued is never sent, and must not look as if it were.
            try before.write(to: file)
            throw error
        }
    }

    /// What is said about a photo.
    func discussion(of photo: Photo) throws -> Discussion {
        try Discussion(contentsOf: url(of: photo.discussion))
    }

    /// Removes a photo, for everybody.
    func remove(_ photo: Photo) throws {
        let files = [photo.picture, photo.discussion]
        try turn(to: photo.picture.sharingGroupUUID)
        try client.delete(filesWithUUIDs: files.map(\.fileUUID))
        for file in files { try? FileManager.default.removeItem(at: url(of: file)) }
    }

    /// Sends what people did in an album, and brings what others did. What the server did not accept before is offered to
    /// it again.
    func sync(_ album: SharingGroupUUID) async throws -> SyncReport {
        try turn(to: album)
        for change in client.pendingReport().changes where change.isDead && change.sharingGroupUUID == album {
            if let file = change.fileUUID { try? client.retryUpload(forFileUUID: file) }
        }
        return try await client.synced(sharingGroupUUID: album)
    }

    /// Why changes of an album are not sent, each with its file.
    func unsent(in album: SharingGroupUUID) -> [SyncError] {
        client.pendingReport().changes.filter { $0.sharingGroupUUID == album && $0.isBlocked }.compactMap(\.error)
    }

    // MARK: What others did

    /// Supplies what the server has lost, because it was restored from a backup. A discussion that was changed since is
    /// queued, and not asked for.
    func contentForReupload(of file: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        let own = url(of: file)
        return FileManager.default.fileExists(atPath: own.path) ? .file(client.location(of: own)) : .notAvailable
    }

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
    case noSandbox(URL)
    case unknownPerson(String)
    case otherPerson
    case noAlbum
    case noSuchAlbum(String)
    case severalAlbums([String])
    case albumExists(String)
    case noSuchPhoto(String)
    case noSuchFile(String)
    case noPicture(String)
    case notAnInvitation
    /// What the library could not do, as a sentence.
    case failed(String)

    var description: String {
        switch self {
        case .nobodySignedIn: "Nobody is signed in on this device; use album sign-in."
        case .noSandbox(let url): "The sandbox cannot be reached at \(url.absoluteString)."
        case .unknownPerson(let account): "The sandbox knows no account \(printable(account))."
        case .otherPerson: "This device is another person's; name a folder of your own with --device."
        case .noAlbum: "You are in no album yet; make one with album create, or join one with album join."
        case .noSuchAlbum(let name): "You are in no album called \(printable(name)); album albums lists yours."
        case .severalAlbums(let lines):
            "You are in several such albums; name one with --album, by its name or the beginning of what stands before it:\n"
                + lines.joined(separator: "\n")
        case .albumExists(let line): "You have an album of this name:\n\(line)\nWith --another you get a second one."
        case .noSuchPhoto(let number): "There is no photo \(number); album list shows all."
        case .noSuchFile(let path): "There is no file \(path)."
        case .noPicture(let path): "\(path) is no JPEG picture."
        case .notAnInvitation: "That is no invitation's code."
        case .failed(let sentence): sentence.prefix(1).uppercased() + sentence.dropFirst() + "."
        }
    }
}

extension FileUUID {
    static func make() throws -> FileUUID {
        guard let made = FileUUID(UUID().uuidString) else { throw CocoaError(.coderInvalidValue) }
        return made
    }
}
