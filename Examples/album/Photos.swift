import ArgumentParser
import Foundation
import SyncClient
import SyncErrorSentences

/// `album add`.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Adds a photo.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    @Argument(help: "A JPEG picture.", completion: .file(extensions: ["jpg", "jpeg"]))
    var file: String

    @Option(help: "The photo's title; by default the file's name.")
    var title: String?

    func run() async throws {
        let original = URL(filePath: file)
        guard FileManager.default.fileExists(atPath: original.path) else { throw AlbumError.noSuchFile(file) }
        guard let begin = try? FileHandle(forReadingFrom: original).read(upToCount: 3),
            begin == Data([0xFF, 0xD8, 0xFF])
        else { throw AlbumError.noPicture(file) }
        try await options.withDevice { device in
            let title = title ?? original.deletingPathExtension().lastPathComponent
            try device.add(original, title: title, to: album.group(device))
            print("Added \(printable(title)) to the album.")
        }
    }
}

/// `album comment`.
struct Comment: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Adds a comment to a photo.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var photo: PhotoOptions

    @Argument(help: "The comment.")
    var text: String

    func run() async throws {
        try await options.withDevice { device in try device.comment(text, on: photo.photo(device)) }
    }
}

/// `album remove`.
struct Remove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Removes a photo with its discussion for everybody.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var photo: PhotoOptions

    func run() async throws {
        try await options.withDevice { device in try device.remove(photo.photo(device)) }
    }
}

/// `album list`.
struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the photos with their number of comments.")

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
            Shows the picture itself if the terminal supports pictures (sixel, or kitty's graphics protocol) and the \
            program chafa is installed; otherwise a link to it.
            """)

    @OptionGroup var options: DeviceOptions
    @OptionGroup var photo: PhotoOptions

    @Option(help: "How to show the picture; by default detected from the terminal.")
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
        abstract: "Sends your changes, and fetches changes by others.")

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    func run() async throws {
        let isComplete = try await options.withDevice { device in
            let group = try album.group(device)
            let display = Task { await Self.showProgress(of: device, in: group) }
            defer { display.cancel() }
            let report = try await device.sync(group)
            display.cancel()
            await display.value
            print("\(report.uploaded + report.deleted) changes sent, \(report.delivered.count) received")
            if report.serverWasRestored {
                print("The server was restored from a backup; lost files that are on this device are sent again.")
            }
            let titles = Self.titles(device, group)
            let failures = device.unsent(in: group)
            for failure in failures {
                let title = failure.fileUUID.flatMap { titles[$0] } ?? "a photo"
                print("not sent: \(printable(title)): \(sentences.sentence(forFile: failure))")
            }
            return failures.isEmpty
        }
        if !isComplete { throw ExitCode.failure }
    }

    /// The titles of photos, keyed by the UUIDs of both the pictures and the discussions.
    private static func titles(_ device: AlbumDevice, _ group: SharingGroupUUID) -> [FileUUID: String] {
        var titles: [FileUUID: String] = [:]
        for photo in device.photos(in: group) {
            guard let title = try? device.discussion(of: photo).title else { continue }
            titles[photo.picture.fileUUID] = title
            titles[photo.discussion.fileUUID] = title
        }
        return titles
    }

    /// Shows the progress of each photo, on one line of a terminal, until the task is cancelled.
    private static func showProgress(of device: AlbumDevice, in group: SharingGroupUUID) async {
        guard isatty(STDERR_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else { return }
        func draw(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data("\r\u{1B}[K\(text)".utf8)) }
        let titles = titles(device, group)
        var isDrawn = false
        for await transfer in device.client.progress() {
            guard let total = transfer.totalBytes, total > 0 else { continue }
            let arrow = transfer.direction == .upload ? "↑" : "↓"
            let percent = min(100, 100 * transfer.completedBytes / total)
            draw("\(arrow) \(printable(titles[transfer.fileUUID] ?? "a photo"))  \(percent) %")
            isDrawn = true
        }
        if isDrawn { draw("") }
    }
}

/// `album watch`.
struct Watch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows changes by others as they arrive, until you end it (Ctrl-C).",
        discussion: """
            Sends your waiting changes first. Other commands cannot use the device meanwhile. If the server does not \
            report changes by itself, asks once a minute.
            """)

    @OptionGroup var options: DeviceOptions
    @OptionGroup var album: AlbumOptions

    func run() async throws {
        try await options.withDevice { device in
            let group = try album.group(device)
            var shown = try Self.contents(device, group)
            let (changes, errors) = (device.client.fileChanges(inSharingGroup: group), device.client.errors)
            let complaining = Task {
                for await error in errors { Self.say("not synced: \(sentences.sentence(for: error))") }
            }
            let syncing = Task { await device.client.syncAutomatically() }
            defer {
                complaining.cancel()
                syncing.cancel()
            }
            Self.say("Watching the album.")
            for await _ in changes {
                let now = try Self.contents(device, group)
                for (photo, discussion) in now {
                    let title = printable(discussion.title)
                    if shown[photo] == nil { Self.say("new photo: \(title)") }
                    for message in discussion.messages where shown[photo]?.messages.contains(message) != true {
                        Self.say("\(title): \(printable(message.author)): \(printable(message.text))")
                    }
                }
                for (photo, discussion) in shown where now[photo] == nil {
                    Self.say("removed: \(printable(discussion.title))")
                }
                shown = now
            }
        }
    }

    /// The discussions of the photos, keyed by the UUIDs of the pictures.
    private static func contents(_ device: AlbumDevice, _ group: SharingGroupUUID) throws -> [FileUUID: Discussion] {
        var discussions: [FileUUID: Discussion] = [:]
        for photo in device.photos(in: group) {
            discussions[photo.picture.fileUUID] = try device.discussion(of: photo)
        }
        return discussions
    }

    /// Writes a line without buffering, even to a pipe.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}

/// Foreign text without anything that a terminal could interpret as a command.
func printable(_ text: String) -> String {
    String(
        String.UnicodeScalarView(
            text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? "\u{FFFD}" : $0 }))
}
