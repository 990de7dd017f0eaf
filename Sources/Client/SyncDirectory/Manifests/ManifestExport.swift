internal import Foundation
package import SyncProtocol

/// Writes the files that a manifest describes as ordinary files: a folder for each group, and readable names.
///
/// Writes below its directory only, whatever names others have chosen, and never replaces anything.
package final class ManifestExport {
    /// What happened to a file.
    package enum Outcome: String, Sendable, CaseIterable {
        /// Written, or already written earlier.
        case written
        /// As `written`, but its size or checksum is not that of the manifest: somebody has changed it since.
        case changed
        /// Not in the folder, although its owner is the person whose folder it is.
        case missing
        /// In the folder of another member.
        case elsewhere
        /// The server itself did not have it in the owner's storage: after a switch of accounts, or it was lost.
        case absent
    }

    /// One file of a group.
    package struct Item: Sendable {
        package var fileUUID: FileUUID
        package var outcome: Outcome
        /// Below the output; nil if nothing was written.
        package var path: String?
        /// The name of the object in the folder.
        package var object: String
        /// The name of the file's owner.
        package var owner: String?
    }

    private let source: ManifestFolder
    /// Objects whose intended name was in use, keyed by that name: their names have a mark of eight digits before the
    /// extension.
    private let spares: [String: [String]]
    private let root: Descriptor?
    private var folders: Set<String> = []

    /// The largest text in which a title is looked for, in bytes.
    private static let maximumTextBytes: Int64 = 1 << 20
    /// How many names are tried before the export skips a file.
    private static let attempts = 10_000

    /// - Parameter output: an existing or new directory; nil to write nothing, and only check.
    package init(_ source: ManifestFolder, to output: String?) throws(DiskError) {
        self.source = source
        let marked = source.names.compactMap { name in Self.unmarked(name).map { (wanted: $0, name: name) } }
        spares = Dictionary(grouping: marked, by: \.wanted).mapValues { $0.map(\.name).sorted() }
        root = try output.map { path throws(DiskError) in try FileCalls.makeAndOpenFolder(atPath: path) }
    }

    /// Writes the files of a group, except deleted ones.
    package func write(_ group: ManifestFolder.Group) throws(DiskError) -> [Item] {
        let folder = folderName(of: group)
        let titles = titles(in: group)
        let names = Dictionary(group.members.map { ($0.userID, $0.name) }, uniquingKeysWith: { first, _ in first })
        var items: [Item] = []
        for file in group.files where file.state != .deleted {
            var item = Item(
                fileUUID: file.fileUUID, outcome: .absent, object: file.cloudName, owner: names[file.owner.userID])
            defer { items.append(item) }
            guard file.state == .stored else { continue }
            guard let (object, fits) = try object(of: file) else {
                item.outcome = file.owner.userID == group.header.ownerID ? .missing : .elsewhere
                continue
            }
            item.object = object
            item.outcome = fits ? .written : .changed
            item.path = try copy(object, file, to: path(of: file, folder, titles))
        }
        return items
    }

    // MARK: Objects

    /// A name without the mark of an object whose intended name was in use: `~` and eight characters before its
    /// extension.
    private static func unmarked(_ name: String) -> String? {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        guard let mark = name[..<dot].lastIndex(of: "~"), name[mark..<dot].utf8.count == 9 else { return nil }
        return String(name[..<mark] + name[dot...])
    }

    /// The object with a file's contents and whether these fit; an object that does not fit if there is no other.
    private func object(of file: ManifestFile) throws(DiskError) -> (name: String, fits: Bool)? {
        let name = file.cloudName
        var found: String?
        for candidate in (source.names.contains(name) ? [name] : []) + spares[name, default: []] {
            guard case .file? = try? FileCalls.item(candidate, in: source.folder.number) else { continue }
            var check = ManifestFolder.Check(file.owner.storageType)
            let opened = try FileCalls.openFile(candidate, in: source.folder.number)
            try FileCalls.forEachChunk(of: opened) { (chunk: ArraySlice<UInt8>) throws(DiskError) in
                check.update(chunk)
            }
            if check.fits(file) { return (candidate, true) }
            found = found ?? candidate
        }
        return found.map { ($0, false) }
    }

    /// Copies an object to the first name like `wanted` that is free, or already has the same contents.
    /// - Returns: the path; nil if nothing is to be written.
    private func copy(_ object: String, _ file: ManifestFile, to wanted: RelativePath) throws(DiskError) -> String? {
        guard let root else { return nil }
        var wanted = wanted
        var number = 0
        while number < Self.attempts {
            number += 1
            guard let path = number == 1 ? wanted : Self.numbered(wanted, number) else { continue }
            let place: FileCalls.Place
            do throws(DiskError) {
                place = try FileCalls.place(path, below: root, makingFolders: true)
            } catch {
                // A folder of this name cannot be created: the file goes into the folder above.
                let names = wanted.names
                let merged = names.suffix(2).joined(separator: "_")
                guard error.concernsThePlace, names.count > 1,
                    let flatter = RelativePath((names.dropLast(2) + [merged]).joined(separator: "/"))
                else { throw error }
                (wanted, number) = (flatter, 0)
                continue
            }
            do throws(DiskError) {
                if try FileCalls.item(place.name, in: place.folder.number) != .missing {
                    guard try isSame(object, place) else { continue }
                    return path.text
                }
                let copy = try FileCalls.createFile(place.name, in: place.folder.number)
                do throws(DiskError) {
                    let opened = try FileCalls.openFile(object, in: source.folder.number)
                    try FileCalls.forEachChunk(of: opened) { (chunk: ArraySlice<UInt8>) throws(DiskError) in
                        try FileCalls.write(chunk, to: copy)
                    }
                } catch {
                    // A part of a file must not be mistaken for it.
                    try? FileCalls.removeFile(place.name, in: place.folder.number)
                    throw error
                }
                FileCalls.setModified(max(0, file.updatedAt.secondsSince1970) * 1_000_000_000, of: copy)
                return path.text
            } catch {
                // Another name may be possible here.
                guard error.concernsThePlace else { throw error }
            }
        }
        throw DiskError("openat", wanted, code: 17)
    }

    private func isSame(_ object: String, _ place: FileCalls.Place) throws(DiskError) -> Bool {
        guard case .file(let there) = try FileCalls.item(place.name, in: place.folder.number),
            case .file(let here) = try FileCalls.item(object, in: source.folder.number), there.size == here.size
        else { return false }
        let files = [
            try FileCalls.openFile(object, in: source.folder.number),
            try FileCalls.openFile(place.name, in: place.folder.number),
        ]
        var buffers = [[UInt8](repeating: 0, count: 65_536), [UInt8](repeating: 0, count: 65_536)]
        while true {
            let count = try FileCalls.read(files[0], into: &buffers[0])
            guard try FileCalls.read(files[1], into: &buffers[1]) == count,
                buffers[0][..<count] == buffers[1][..<count]
            else { return false }
            if count == 0 { return true }
        }
    }

    // MARK: Names

    /// A folder for the group that no other group of this export has.
    private func folderName(of group: ManifestFolder.Group) -> String {
        let name = Self.usable(group.header.groupName ?? "") ?? "Group \(group.header.groupUUID.rawValue.prefix(8))"
        let free =
            folders.contains(name.lowercased()) ? "\(name) \(group.header.groupUUID.rawValue.prefix(8))" : name
        folders.insert(free.lowercased())
        return free
    }

    /// Where a file belongs: at the path that `syncdir` recorded; otherwise named by its title or that of its file
    /// group, or else by its time.
    private func path(of file: ManifestFile, _ folder: String, _ titles: [FileGroupUUID: String]) -> RelativePath {
        let text = file.appMetaData?.contents ?? ""
        if let path = FileDescription(appMetaData: text)?.path, let safe = RelativePath("\(folder)/\(path)") {
            return safe
        }
        let time = file.createdAt.description.replacing(":", with: ".")
        let title = Self.title(in: text) ?? file.fileGroupUUID.flatMap { titles[$0] }
        let mark = (file.fileGroupUUID?.rawValue ?? file.fileUUID.rawValue).prefix(8)
        let stem = title ?? Self.usable("\(time) \(mark)") ?? time
        let name = "\(stem).\(file.mimeType.fileExtension)"
        // Both parts are usable names, and together shorter than the limit.
        return RelativePath("\(folder)/\(name)") ?? RelativePath("\(folder)/\(file.fileUUID.rawValue)")!
    }

    /// The titles in an album's discussions: texts in JSON with a member `title`.
    private func titles(in group: ManifestFolder.Group) -> [FileGroupUUID: String] {
        var titles: [FileGroupUUID: String] = [:]
        for file in group.files where file.mimeType == .text && file.state == .stored {
            // The manifest may name a file outside the folder.
            guard let fileGroup = file.fileGroupUUID, source.names.contains(file.cloudName),
                case .file(let signature)? = try? FileCalls.item(file.cloudName, in: source.folder.number),
                signature.size <= Self.maximumTextBytes,
                let opened = try? FileCalls.openFile(file.cloudName, in: source.folder.number)
            else { continue }
            var text = [UInt8](repeating: 0, count: Int(signature.size))
            guard let count = try? FileCalls.read(opened, into: &text) else { continue }
            titles[fileGroup] = Self.title(in: String(decoding: text[..<count], as: UTF8.self))
        }
        return titles
    }

    private static func title(in text: String) -> String? {
        struct Titled: Decodable { let title: String }
        return (try? JSONDecoder().decode(Titled.self, from: Data(text.utf8))).flatMap { usable($0.title) }
    }

    /// A text as the name of a file or folder, without what file systems or terminals misinterpret; nil if nothing is
    /// left.
    private static func usable(_ text: String) -> String? {
        let scalars = text.unicodeScalars.map { scalar in
            let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
            return isControl || "/\\:*?\"<>|".unicodeScalars.contains(scalar) ? "_" : scalar
        }
        var name = String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
        while name.utf8.count > 120 { name.removeLast() }
        // Neither hidden nor special.
        while name.hasPrefix(".") { name.removeFirst() }
        return RelativePath(name) == nil ? nil : name
    }

    private static func numbered(_ path: RelativePath, _ number: Int) -> RelativePath? {
        let name = path.name
        let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
        return path.renamed("\(name[..<dot]) (\(number))\(name[dot...])")
    }
}
