import ArgumentParser
import Foundation
import SyncClient
import SyncErrorSentences

/// A shared photo album with a discussion for each photo: an example app for the client library.
@main
struct Album: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A shared photo album for the terminal: an example app for SyncServer's client library.",
        discussion:
            "Changes are stored here first, without the network; `album sync` sends them, and fetches others' changes. "
            + "`album watch` does both continuously.",
        subcommands: [
            SignIn.self, Create.self, Invite.self, Members.self, Invitation.self, Join.self, Albums.self, Add.self,
            Comment.self, Remove.self, List.self, Show.self, Sync.self, Watch.self,
        ])
}

/// The options of all commands.
struct DeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The device: a separate folder for each.", valueName: "folder"))
    var device = "\(NSHomeDirectory())/.local/state/album"

    var folder: URL { URL(filePath: device, directoryHint: .isDirectory) }

    /// Opens the device for one command; with its stored settings, unless the command is about to replace them.
    func withDevice<Value>(
        _ settings: Settings? = nil, _ body: (AlbumDevice) async throws -> Value
    ) async throws -> Value {
        do {
            let device = try AlbumDevice(folder, settings ?? Settings(folder))
            do {
                let value = try await body(device)
                await device.client.close()
                return value
            } catch {
                await device.client.close()
                throw error
            }
        } catch let error as SyncError {
            throw AlbumError.failed(sentences.sentence(for: error))
        }
    }
}

/// Sentences for the library's errors, with the commands that help.
let sentences = ErrorSentences(
    ErrorSentences.Remedies(
        signIn: "album sign-in", createGroup: "album create NAME", join: "album join CODE", listGroups: "album albums"))

/// The options of the commands for one album.
struct AlbumOptions: ParsableArguments {
    @Option(
        help: "The album's name, or the beginning of its identifier (see album albums); needed if you have several.")
    var album: String?

    /// The specified album.
    func group(_ device: AlbumDevice) throws -> SharingGroupUUID {
        let groups = device.client.sharingGroups
        var meant = groups
        if let album {
            meant = groups.filter { $0.sharingGroupName == album }
            if meant.isEmpty {
                meant = groups.filter { $0.sharingGroupUUID.rawValue.lowercased().hasPrefix(album.lowercased()) }
            }
        }
        guard let group = meant.first else { throw album.map(AlbumError.noSuchAlbum) ?? AlbumError.noAlbum }
        guard meant.count == 1 else { throw AlbumError.severalAlbums(meant.map { Self.line($0, among: groups) }) }
        return group.sharingGroupUUID
    }

    /// An album's line in a list: enough of its UUID to be unique, and its name.
    static func line(_ group: SharingGroup, among groups: [SharingGroup]) -> String {
        let identifiers = groups.map(\.sharingGroupUUID.rawValue)
        let length =
            (8...36).first { length in
                Set(identifiers.map { $0.prefix(length) }).count == identifiers.count
            } ?? 36
        return "\(group.sharingGroupUUID.rawValue.prefix(length))  \(printable(group.sharingGroupName ?? "untitled"))"
    }
}

/// The options of the commands for one photo.
struct PhotoOptions: ParsableArguments {
    @OptionGroup var album: AlbumOptions

    @Argument(help: "The photo's number or title.")
    var photo: String

    /// The specified photo.
    func photo(_ device: AlbumDevice) throws -> Photo {
        let photos = device.photos(in: try album.group(device))
        if let number = Int(photo), photos.indices.contains(number - 1) { return photos[number - 1] }
        guard let named = try photos.first(where: { try device.discussion(of: $0).title == photo }) else {
            throw AlbumError.noSuchPhoto(photo)
        }
        return named
    }
}

/// A device's user and server.
struct Settings: Codable {
    var server: URL
    /// The sandbox's control interface, which signs people in without a browser.
    var sandbox: URL
    /// The person's account at the sandbox.
    var accountID: String
    /// The person's name, for comments.
    var person: String

    private static func file(_ folder: URL) -> URL { folder.appending(path: "device.json") }

    init(server: URL, sandbox: URL, accountID: String, person: String) {
        self.server = server
        self.sandbox = sandbox
        self.accountID = accountID
        self.person = person
    }

    /// Reads a device's folder.
    init(_ folder: URL) throws {
        guard let data = try? Data(contentsOf: Self.file(folder)) else { throw AlbumError.nobodySignedIn }
        self = try JSONDecoder().decode(Self.self, from: data)
    }

    func save(in folder: URL) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try JSONEncoder().encode(self).write(to: Self.file(folder), options: .atomic)
    }
}
