import ArgumentParser
import Foundation
import SyncClient

/// A photo album that people share, with a discussion for each photo. An example of an app on the client library.
@main
struct Album: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A shared photo album for the terminal: an example of an app on SyncServer's client library.",
        discussion:
            "Changes are made here first, without the network; `album sync` sends them, and brings those of others.",
        subcommands: [
            SignIn.self, Create.self, Invite.self, Join.self, Albums.self, Add.self, Comment.self, Remove.self,
            List.self,
            Show.self, Sync.self,
        ])
}

/// What every command takes.
struct DeviceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The device: a folder of its own for each.", valueName: "folder"))
    var device = "\(NSHomeDirectory())/.local/state/album"

    var folder: URL { URL(filePath: device, directoryHint: .isDirectory) }

    /// Opens the device for one command.
    func withDevice<Value>(_ body: (AlbumDevice) async throws -> Value) async throws -> Value {
        let device = try AlbumDevice(folder)
        do {
            let value = try await body(device)
            await device.client.close()
            return value
        } catch {
            await device.client.close()
            throw error
        }
    }
}

/// What the commands about one album take.
struct AlbumOptions: ParsableArguments {
    @Option(help: "The album's name; needed if there are several.")
    var album: String?

    /// The album that is meant.
    func group(_ device: AlbumDevice) throws -> SharingGroupUUID {
        let groups = device.client.sharingGroups
        let meant = album.map { name in groups.filter { $0.sharingGroupName == name } } ?? groups
        guard meant.count == 1, let group = meant.first else { throw AlbumError.noSuchAlbum(album ?? "that alone") }
        return group.sharingGroupUUID
    }
}

/// What the commands about one photo take.
struct PhotoOptions: ParsableArguments {
    @OptionGroup var album: AlbumOptions

    @Argument(help: "The photo's number or title.")
    var photo: String

    /// The photo that is meant.
    func photo(_ device: AlbumDevice) throws -> Photo {
        let photos = device.photos(in: try album.group(device))
        if let number = Int(photo), photos.indices.contains(number - 1) { return photos[number - 1] }
        guard let named = try photos.first(where: { try device.discussion(of: $0).title == photo }) else {
            throw AlbumError.noSuchPhoto(photo)
        }
        return named
    }
}
