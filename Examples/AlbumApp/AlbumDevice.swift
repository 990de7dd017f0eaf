import Foundation
import Observation
import SyncAccounts
import SyncClient

/// A person's device: the files that the app shows, in its own folder by their UUIDs, and the client library.
///
/// A photo is a file group of two files, as in the terminal's album (`../album/Photo.swift`): both apps share albums.
final class AlbumDevice: SyncServerDelegate {
    let client: SyncServer
    let session: AccountSession
    let transfers: BackgroundTransfers
    private let folder: URL

    init() throws {
        let files = FileManager.default
        let home = try files.url(
            for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
        let folder = home.appending(path: "files")
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        session = try AccountSession(Setup.accounts, store: KeychainCredentialStore(service: Setup.bundleID))
        transfers = BackgroundTransfers(folder: home.appending(path: "transfers"))
        let executor = URLSessionExecutor(
            transfers: URLSessionExecutor.backgroundConfiguration(identifier: Setup.bundleID + ".transfers"),
            unattended: transfers.handlers)

        var configuration = SyncServer.Configuration(
            serverURL: Setup.server, storeFolder: home.appending(path: "sync"), cloudFolderName: "Album")
        configuration.deviceGrantStore = KeychainDeviceGrantStore(service: Setup.bundleID)
        // Simultaneous comments are all kept. Removing a photo ends its discussion.
        configuration.conflictResolver = .merge(deletionsWin: true) { conflict in
            let file = folder.appending(path: conflict.attributes.fileUUID.rawValue)
            var discussion = try Discussion(contentsOf: file)
            if let theirs = conflict.serverFile { discussion.merge(try Discussion(contentsOf: theirs).messages) }
            try discussion.write(to: file)
            return MergedFile(file: file)
        }
        client = try SyncServer(configuration: configuration, credentialProvider: session, executor: executor)
        client.delegate = self
        transfers.connect(to: client)
    }

    func url(of file: SyncAttributes) -> URL { folder.appending(path: file.fileUUID.rawValue) }

    /// The photos among `files` whose contents are on this device.
    func photos(in files: [SyncAttributes]) -> [Photo] {
        Photo.all(in: files).filter { photo in
            [photo.picture, photo.discussion].allSatisfy { FileManager.default.fileExists(atPath: url(of: $0).path) }
        }
    }

    func discussion(of photo: Photo) -> Discussion? { try? Discussion(contentsOf: url(of: photo.discussion)) }

    // MARK: The user's changes. Each appears at once, and is sent as soon as possible.

    func createAlbum(_ name: String) throws {
        let album = SharingGroupUUID()
        try client.createSharingGroup(sharingGroupUUID: album, sharingGroupName: name)
        try client.sync(sharingGroupUUID: album)
    }

    func add(_ jpeg: Data, title: String, to album: SharingGroupUUID) throws {
        let group = FileGroupUUID()
        let picture = SyncAttributes(
            fileUUID: FileUUID(), sharingGroupUUID: album, mimeType: .picture, fileGroupUUID: group)
        let discussion = SyncAttributes(
            fileUUID: FileUUID(), sharingGroupUUID: album, mimeType: .discussion, fileGroupUUID: group)
        do {
            try jpeg.write(to: url(of: picture), options: .atomic)
            try Discussion(title: title).write(to: url(of: discussion))
            // The picture never changes, so the library needs no copy of it; the discussion changes.
            try client.uploadImmutable(localFile: client.location(of: url(of: picture)), withAttributes: picture)
            try client.uploadCopy(localFile: client.location(of: url(of: discussion)), withAttributes: discussion)
        } catch {
            try? client.withdraw(forFileUUID: picture.fileUUID)
            for file in [picture, discussion] { try? FileManager.default.removeItem(at: url(of: file)) }
            throw error
        }
        try client.sync(sharingGroupUUID: album, pushNotificationMessage: "A new photo")
    }

    func comment(_ text: String, by author: String, on photo: Photo) throws {
        let file = url(of: photo.discussion)
        let before = try Discussion(contentsOf: file)
        var discussion = before
        discussion.say(text, author: author)
        try discussion.write(to: file)
        do {
            try client.uploadCopy(localFile: client.location(of: file), withAttributes: photo.discussion)
        } catch {
            // A comment that cannot be queued is never sent, and must not appear here.
            try before.write(to: file)
            throw error
        }
        try client.sync(sharingGroupUUID: photo.picture.sharingGroupUUID)
    }

    func remove(_ photo: Photo) throws {
        try client.delete(filesWithUUIDs: [photo.picture.fileUUID, photo.discussion.fileUUID])
        for file in [photo.picture, photo.discussion] { try? FileManager.default.removeItem(at: url(of: file)) }
        try client.sync(sharingGroupUUID: photo.picture.sharingGroupUUID)
    }

    func retry(_ photo: Photo) throws {
        for file in [photo.picture, photo.discussion] { try? client.retryUpload(forFileUUID: file.fileUUID) }
        try client.sync(sharingGroupUUID: photo.picture.sharingGroupUUID)
    }

    /// Gives up changes that the server does not have. A photo that was never sent disappears.
    func withdraw(_ photo: Photo) throws {
        for file in [photo.picture, photo.discussion] {
            try? client.withdraw(forFileUUID: file.fileUUID)
            // Delivers the server's contents, if any, again.
            try? client.requestDownload(forFileUUID: file.fileUUID)
        }
        try client.sync(sharingGroupUUID: photo.picture.sharingGroupUUID)
    }

    // MARK: Changes by others

    func syncServerFileGroupDownloadComplete(group: [DownloadOperation]) async throws {
        for operation in group {
            let own = url(of: operation.attributes)
            switch operation.kind {
            case .file(let location, _):
                // The same file may arrive twice, so it replaces the local one.
                guard let downloaded = client.url(of: location) else { continue }
                try? FileManager.default.removeItem(at: own)
                try FileManager.default.moveItem(at: downloaded, to: own)
            case .deletion: try? FileManager.default.removeItem(at: own)
            case .appMetaData, .fileGone: break
            }
        }
    }

    func syncServerFileGroupDownloadGone(group: [DownloadOperation]) async throws {
        try await syncServerFileGroupDownloadComplete(group: group)
    }

    func contentForReupload(of file: SyncAttributes, fileVersion: FileVersion) async -> ReuploadContent {
        let own = url(of: file)
        return FileManager.default.fileExists(atPath: own.path) ? .file(client.location(of: own)) : .notAvailable
    }
}

/// What keeps changes from being sent.
@MainActor @Observable
final class Problems {
    private(set) var ofFiles: [FileUUID: SyncError] = [:]
    /// Nil while syncs succeed.
    private(set) var ofAll: SyncError?

    func of(_ photo: Photo) -> SyncError? { ofFiles[photo.picture.fileUUID] ?? ofFiles[photo.discussion.fileUUID] }

    /// Follows the library until the task is cancelled.
    func follow(_ client: SyncServer) async {
        for await status in client.status() {
            switch status {
            case .blocked(let error) where error.fileUUID == nil: ofAll = error
            case .idle: ofAll = nil
            default: break
            }
            // Unlike events, this report survives the process.
            ofFiles = [:]
            for change in client.pendingReport().changes where change.isBlocked {
                if let file = change.fileUUID { ofFiles[file] = change.error }
            }
        }
    }
}
