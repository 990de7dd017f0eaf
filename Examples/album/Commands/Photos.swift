import ArgumentParser
import Foundation
import SyncClient

/// `album add`.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Adds a photo.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    @Argument(help: "A JPEG picture.", completion: .file(extensions: ["jpg", "jpeg"]))
    var file: String

    @Option(help: "What it is called; the file's name unless told.")
    var title: String?

    func run() async throws {
        let original = URL(filePath: file)
        guard let begin = try? FileHandle(forReadingFrom: original).read(upToCount: 3),
            begin == Data([0xFF, 0xD8, 0xFF])
        else { throw AlbumError.noPicture(file) }
        try await options.withDevice { device in
            let title = title ?? original.deletingPathExtension().lastPathComponent
            try device.add(original, title: title, to: album.group(device))
            print("\(printable(title)) is in the album.")
        }
    }
}

/// `album comment`.
struct Comment: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Says something about a photo.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var photo: PhotoOptions

    @Argument(help: "What you say.")
    var text: String

    func run() async throws {
        try await options.withDevice { device in try device.comment(text, on: photo.photo(device)) }
    }
}

/// `album remove`.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Removes a photo with its discussion, for everybody.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var photo: PhotoOptions

    func run() async throws {
        try await options.withDevice { device in try device.remove(photo.photo(device)) }
    }
}

/// `album list`.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the photos and how much was said about them.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    func run() async throws {
        try await options.withDevice { device in
            for (index, photo) in device.photos(in: try album.group(device)).enumerated() {
                let discussion = try device.discussion(of: photo)
                print("\(index + 1)  \(printable(discussion.title)), \(discussion.messages.count) comments")
            }
        }
    }
}

/// `album show`.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows a photo and its discussion.",
        discussion: """
            The picture itself appears if the terminal shows pictures (sixel, or kitty's graphics protocol) and the program \
            chafa is installed; else a link to it.
            """)

    @OptionGroup var options: DeviceOptions
    @OptionGroup var photo: PhotoOptions

    @Option(help: "How the picture is shown; the terminal is asked unless told.")
    var pictures: PictureFormat?

    func run() async throws {
        try await options.withDevice { device in
            let photo = try photo.photo(device)
            let discussion = try device.discussion(of: photo)
            print(printable(discussion.title))
            PictureView(format: pictures ?? Terminal.pictureFormat()).show(device.url(of: photo.picture))
            for message in discussion.messages {
                print("\(printable(message.author)): \(printable(message.text))")
            }
        }
    }
}

/// `album sync`.
struct Sync: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends what you did, and brings what others did.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    func run() async throws {
        try await options.withDevice { device in
            let report = try await device.client.synced(sharingGroupUUID: album.group(device))
            print("\(report.uploaded + report.deleted) changes sent, \(report.delivered.count) received")
            for failure in report.failed { print("not sent: \(failure)") }
        }
    }
}

/// Text of others without what a terminal could take for a command.
func printable(_ text: String) -> String {
    String(
        String.UnicodeScalarView(
            text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? "\u{FFFD}" : $0 }))
}
