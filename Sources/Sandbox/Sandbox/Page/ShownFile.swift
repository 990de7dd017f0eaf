import FoundationEssentials
import Posix

/// A file as displayed on the page, from any provider.
struct ShownFile {
    let name: String
    /// The folders that contain it, joined by slashes; empty at the root.
    let folder: String
    let sizeBytes: Int
    let mimeType: String
    let modifiedAt: Date
    /// The name of its contents in the account's directory.
    let object: String
    var isTrashed = false

    /// Its address in the control interface, below `files` or `view`.
    func address(in route: String, of account: Account) -> String {
        "\(PageLayout.address(of: account))\(route)/\(PercentEncoding.encode(name))"
            + "?folder=\(PercentEncoding.encode(folder))"
    }
}

extension Date {
    /// Formatted for people, to the minute.
    var shown: String { PageText.escape(String(text.prefix(16)).replacing("T", with: " ")) }
}

extension SandboxState {
    /// The files of an account, in order of creation; `nil` if it has no storage.
    func shownFiles(of account: Account) -> (files: [ShownFile], usedBytes: Int, root: String)? {
        if let drive = drives[account.id] {
            let listing = FileListing(drive: drive)
            let files = listing.files.map { file in
                ShownFile(
                    name: file.name, folder: listing.folderName(of: file), sizeBytes: file.size ?? 0,
                    mimeType: file.mimeType, modifiedAt: file.modifiedAt, object: file.id,
                    isTrashed: drive.isTrashed(file))
            }
            return (files, drive.usedBytes, "My Drive")
        }
        if let folder = dropboxes[account.id] {
            let files = folder.entries.values.filter { !$0.isFolder }.sorted { $0.sequence < $1.sequence }
            let shown = files.map { file in
                ShownFile(
                    name: file.name, folder: String(file.folder.dropFirst()), sizeBytes: file.size ?? 0,
                    mimeType: MediaType.guess(file.name), modifiedAt: file.serverModifiedAt, object: file.id)
            }
            return (shown, folder.usedBytes, "Apps/Sandbox")
        }
        if let files = nextclouds[account.id] {
            let shown = files.entries.values.filter { !$0.isFolder }.sorted { $0.fileID < $1.fileID }.map { file in
                ShownFile(
                    name: file.name, folder: String(file.folder.dropFirst()), sizeBytes: file.size ?? 0,
                    mimeType: MediaType.guess(file.name), modifiedAt: file.modifiedAt, object: file.object)
            }
            return (shown, files.usedBytes, "Nextcloud")
        }
        if let drive = oneDrives[account.id] {
            let files = OneDriveListing(drive: drive).files.map { file in
                ShownFile(
                    name: file.name, folder: drive.folderPath(of: file), sizeBytes: file.size,
                    mimeType: file.mimeType, modifiedAt: file.modifiedAt, object: file.id)
            }
            return (files, drive.usedBytes, "OneDrive")
        }
        return nil
    }
}

/// How a page displays the contents of a file.
enum ShownContent: Equatable {
    /// In an `img`, which never runs scripts, not even one inside an SVG; with the media type of the response.
    case picture(String)
    /// As escaped text: any UTF-8 without control characters, including markup.
    case text(String)
    /// Not displayed.
    case bytes

    private static let drawing = "image/svg+xml"
    /// Media types of pictures that browsers decode. None begins with bytes that could be text.
    private static let photographs: Set<String> = [
        "image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/bmp",
    ]

    /// How to display a file of that type.
    /// - Parameters:
    ///   - beginning: its first bytes, or all of them.
    ///   - isWhole: whether these are all bytes; if not, a character that is cut off at their end is omitted.
    init(mimeType: String, beginning: ArraySlice<UInt8>, isWhole: Bool) {
        let type = mimeType.prefix { $0 != ";" }.lowercased()
        if type == Self.drawing {
            self = .picture(type)
        } else if let text = Self.text(beginning, isWhole: isWhole) {
            self = .text(text)
        } else if Self.photographs.contains(type) {
            self = .picture(type)
        } else {
            self = .bytes
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>, isWhole: Bool) -> String? {
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }) else { return nil }
        for cut in 0...(isWhole ? 0 : min(3, bytes.count)) {
            if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
        }
        return nil
    }
}

extension ShownFile {
    /// How to display this file, with at most `limit` bytes of text, and whether that is all of it.
    func content(in directory: StateDirectory, of account: Account, limit: Int) -> (ShownContent, isWhole: Bool) {
        let count = min(limit, sizeBytes)
        var bytes = [UInt8](repeating: 0, count: count)
        let path = directory.contentPath(account.id, object)
        var read = 0
        do throws(PosixError) {
            let file = try RegularFile(path, for: .reading)
            var span = bytes.mutableSpan
            read = try file.read(into: &span, at: 0)
        } catch {
            // The file has just been deleted.
            return (.bytes, true)
        }
        let isWhole = count == sizeBytes
        return (ShownContent(mimeType: mimeType, beginning: bytes[..<read], isWhole: isWhole), isWhole)
    }
}
