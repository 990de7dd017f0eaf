import Foundation
import SyncAccounts
import SyncClient

/// A person's device with the app: the files that the app shows, and the client library.
///
/// The app keeps everything that it shows in its own folder, by the files' UUIDs. The library knows which files exist
/// and which belong together.
final class AlbumDevice: SyncServerDelegate {
    let settings: Settings
    let client: SyncServer
    private let folder: URL

    /// Opens a device's folder.
    /// - Throws: `SyncError` if another process is using it.
    init(_ folder: URL, _ settings: Settings) throws {
        self.settings = settings
        self.folder = folder.appending(path: "files")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        var configuration = SyncServer.Configuration(
            serverURL: settings.server, storeFolder: folder.appending(path: "store"), cloudFolderName: "Album")
        // Commands are short; only `album sync` syncs.
        configuration.syncsPendingUploadsAtLaunch = false
        let files = self.folder
        // Simultaneous comments are all kept. Removing a photo ends its discussion.
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

    /// The app's URL of a file.
    func url(of file: SyncAttributes) -> URL { folder.appending(path: file.fileUUID.rawValue) }

    // MARK: People's actions

    /// The photos that are on this device.
    func photos(in album: SharingGroupUUID) -> [Photo] {
        Photo.all(in: client.files(inSharingGroup: album)).filter { photo in
            [photo.picture, photo.discussion].allSatisfy { FileManager.default.fileExists(atPath: url(of: $0).path) }
        }
    }

    /// Adds a photo. It appears here immediately, and for others after a sync.
    func add(_ original: URL, title: String, to album: SharingGroupUUID) throws {
        let fileGroup = FileGroupUUID()
        let picture = SyncAttributes(
            fileUUID: FileUUID(), sharingGroupUUID: album, mimeType: .picture, fileGroupUUID: fileGroup)
        let discussion = SyncAttributes(
            fileUUID: FileUUID(), sharingGroupUUID: album, mimeType: .discussion, fileGroupUUID: fileGroup)
        do {
            try FileManager.default.copyItem(at: original, to: url(of: picture))
            try Discussion(title: title).write(to: url(of: discussion))
            // The picture never changes, so the library needs no copy of it; the discussion changes.
            try client.uploadImmutable(localFile: client.location(of: url(of: picture)), withAttributes: picture)
            try client.uploadCopy(localFile: client.location(of: url(of: discussion)), withAttributes: discussion)
        } catch {
            // For instance, the person may only read.
            try? client.withdraw(forFileUUID: picture.fileUUID)
            for file in [picture, discussion] { try? FileManager.default.removeItem(at: url(of: file)) }
            throw error
        }
    }

    /// Adds a comment to a photo.
    func comment(_ text: String, on photo: Photo) throws {
        let file = url(of: photo.discussion)
        let before = try Discussion(contentsOf: file)
        var discussion = before
        discussion.say(text, author: settings.person)
        try discussion.write(to: file)
        do {
            try client.uploadCopy(localFile: client.location(of: file), withAttributes: photo.discussion)
        } catch {
            // A comment that cannot be queued is never sent, and must not appear here.
            try before.write(to: file)
            throw error
        }
    }

    /// A photo's discussion.
    func discussion(of photo: Photo) throws -> Discussion {
        try Discussion(contentsOf: url(of: photo.discussion))
    }

    /// Removes a photo for everybody.
    func remove(_ photo: Photo) throws {
        let files = [photo.picture, photo.discussion]
        try client.delete(filesWithUUIDs: files.map(\.fileUUID))
        for file in files { try? FileManager.default.removeItem(at: url(of: file)) }
    }

    /// Sends local changes to an album, and fetches changes by others. Retries changes that the server rejected before.
    func sync(_ album: SharingGroupUUID) async throws -> SyncReport {
        for change in client.pendingReport().changes where change.isDead && change.sharingGroupUUID == album {
            if let file = change.fileUUID { try? client.retryUpload(forFileUUID: file) }
        }
        return try await client.synced(sharingGroupUUID: album)
    }

    /// The errors that keep changes to an album from being sent, each with its file.
    func unsent(in album: SharingGroupUUID) -> [SyncError] {
        client.pendingReport().changes.filter { $0.sharingGroupUUID == album && $0.isBlocked }.compactMap(\.error)
    }

    // MARK: Changes by others

    /// Supplies a file that the server has lost because it was restored from a backup. The library does not ask for a
    /// discussion that has changed since: it is queued.
    func contentForReupload(of file: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        let own = url(of: file)
        return FileManager.default.fileExists(atPath: own.path) ? .file(client.location(of: own)) : .notAvailable
    }

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        for operation in group {
            let own = url(of: operation.attributes)
            switch operation.kind {
            case .file(let location, _):
                // The same file may arrive twice, so it replaces the local one.
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
    case invitationGone
    /// An error of the library, as a sentence.
    case failed(String)

    var description: String {
        switch self {
        case .nobodySignedIn: "Nobody is signed in on this device; use album sign-in."
        case .noSandbox(let url): "The sandbox cannot be reached at \(url.absoluteString)."
        case .unknownPerson(let account): "The sandbox knows no account \(printable(account))."
        case .otherPerson: "This device is another person's; specify a different folder with --device."
        case .noAlbum: "You have no album yet; create one with album create, or join one with album join."
        case .noSuchAlbum(let name): "You have no album called \(printable(name)); album albums lists yours."
        case .severalAlbums(let lines):
            "Several albums match; choose one with --album, by its name or the beginning of its identifier:\n"
                + lines.joined(separator: "\n")
        case .albumExists(let line): "You already have an album of this name:\n\(line)\nAdd --another for a second one."
        case .noSuchPhoto(let number): "There is no photo \(number); album list shows all photos."
        case .noSuchFile(let path): "There is no file \(path)."
        case .noPicture(let path): "\(path) is not a JPEG picture."
        case .notAnInvitation: "That is not an invitation code."
        case .invitationGone: "This invitation has expired, is used up, or was withdrawn; ask for another one."
        case .failed(let sentence): sentence.prefix(1).uppercased() + sentence.dropFirst() + "."
        }
    }
}
