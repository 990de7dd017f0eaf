import FoundationEssentials
import Posix

/// A file as shown to a person, with names and folders instead of IDs: on the page, and in the control interface, which
/// names the members like these properties.
struct ShownFile: Encodable, Sendable {
    let name: String
    /// The folders that contain it, joined by slashes; empty at the root.
    let folder: String
    let size: Int
    let checkSum: String
    let modified: Date
    /// Also the name of its contents in the account's directory.
    let id: String
    let mimeType: String
    let trashed: Bool

    /// The path from the root.
    var path: String { (folder.isEmpty ? "/" : "/\(folder)/") + name }

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

extension FileTree {
    fileprivate var shownFiles: [ShownFile] {
        files.map { file in
            ShownFile(
                name: file.name, folder: folderPath(of: file), size: file.byteCount, checkSum: file.checksum ?? "",
                modified: file.modifiedAt, id: file.id, mimeType: file.mimeType, trashed: isTrashed(file))
        }
    }
}

extension SandboxState {
    /// The files of an account, in order of creation; `nil` if it has no storage.
    func shownFiles(of account: Account) -> (files: [ShownFile], usedBytes: Int, root: String)? {
        if let tree = drives[account.id] { return (tree.shownFiles, tree.usedBytes, "My Drive") }
        if let tree = dropboxes[account.id] { return (tree.shownFiles, tree.usedBytes, "Apps/Sandbox") }
        if let tree = nextclouds[account.id] { return (tree.shownFiles, tree.usedBytes, "Nextcloud") }
        return oneDrives[account.id].map { ($0.shownFiles, $0.usedBytes, "OneDrive") }
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
        let count = min(limit, size)
        var bytes = [UInt8](repeating: 0, count: count)
        let path = directory.contentPath(account.id, id)
        var read = 0
        do throws(PosixError) {
            let file = try RegularFile(path, for: .reading)
            var span = bytes.mutableSpan
            read = try file.read(into: &span, at: 0)
        } catch {
            // The file has just been deleted.
            return (.bytes, true)
        }
        let isWhole = count == size
        return (ShownContent(mimeType: mimeType, beginning: bytes[..<read], isWhole: isWhole), isWhole)
    }
}
