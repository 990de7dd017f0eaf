import FoundationEssentials
import OpenSSLCrypto
import Posix
import Store
import SyncProtocol

/// The page in an owner's folder that shows the folder's contents in a browser, without the app: groups, dates,
/// pictures, texts.
///
/// Its bytes depend only on the listed files, so an unchanged page is not stored again. It has no script, loads only
/// the files beside it, and refers to them by their names in the folder, so it works wherever the folder is copied.
struct IndexPage {
    static let name = IndexPageRecord.objectName
    static let mimeType = "text/html"
    /// The maximum number of files listed, the newest ones; such a page has about a megabyte.
    static let maximumFiles = 2_000

    /// Pictures fill a grid, and texts a part of it; a phone shows two columns, paper neither frames nor colours.
    private static let style: StaticString = """
        :root { color-scheme: light dark; font: 16px/1.4 system-ui, sans-serif; }
        body { margin: 0 auto; padding: 1rem; max-width: 70rem; }
        h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; overflow-wrap: anywhere; }
        ul { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: .75rem; margin: 0; padding: 0; }
        li { list-style: none; min-width: 0; border: 1px solid #8885; border-radius: .4rem; padding: .4rem; }
        figure, p { margin: 0; } header p { margin-top: .5rem; }
        img { display: block; width: 100%; height: 9rem; object-fit: cover; border-radius: .25rem; background: #8883; }
        iframe { display: block; box-sizing: border-box; width: 100%; height: 9rem; border: 0; background: #fff; color-scheme: light; }
        figcaption { font-size: .8rem; margin-top: .3rem; overflow-wrap: anywhere; } time { white-space: nowrap; }
        @media print { ul { display: block; } li { break-inside: avoid; margin-bottom: .5rem; } img { height: auto; max-height: 20cm; object-fit: contain; } }
        """

    /// The beginning of every index page, regardless of contents and style; other pages begin differently.
    static let beginning: [UInt8] = {
        let empty = String(decoding: IndexPage([], total: 0, types: .standard).bytes(), as: UTF8.self)
        return Array(empty.split(separator: "sha256-", maxSplits: 1)[0].utf8)
    }()

    private let files: [ListedFile]
    private let total: Int
    private let types: MIMETypeTable

    /// - Parameters:
    ///   - files: at most ``maximumFiles``, the newest first.
    ///   - total: the number of all files.
    init(_ files: [ListedFile], total: Int, types: MIMETypeTable) {
        self.files = files
        self.total = total
        self.types = types
    }

    /// The page in UTF-8.
    func bytes() -> [UInt8] {
        let digest = IncrementalDigest.digest(of: Array(Self.style.description.utf8), .sha256)
        let hash = Data(digest).base64EncodedString()
        let policy =
            "default-src 'none'; img-src 'self' file:; frame-src 'self' file:; style-src 'sha256-\(hash)'; "
            + "base-uri 'none'; form-action 'none'"
        var page: HTMLText = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="
            """
        page += "\(policy)"
        page += """
            ">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="referrer" content="no-referrer">
            <title>What is in this folder</title>
            <style>
            """
        page.append(style: Self.style)
        page += """
            </style>
            </head>
            <body>
            <header>
            <h1>What is in this folder</h1>
            <p>The files that an app keeps here for its users, as they were when this page was last written. The page works \
            without the app, and without a network if the folder is on this device. Times are in UTC.</p>

            """
        if total > files.count {
            page +=
                "<p>It shows the \(files.count) newest of \(total) files; the others are in the folder all the same.</p>\n"
        }
        if files.isEmpty { page += "<p>There are no files at the moment.</p>\n" }
        page += "</header>\n<main>\n"
        for group in groups { page += section(group) }
        page += "</main>\n</body>\n</html>\n"
        return Array(page.markup.utf8)
    }

    /// The files of each group, the group with the newest file first.
    private var groups: [[ListedFile]] {
        var order: [SharingGroupUUID] = []
        var members: [SharingGroupUUID: [ListedFile]] = [:]
        for file in files {
            if members[file.groupUUID] == nil { order.append(file.groupUUID) }
            members[file.groupUUID, default: []].append(file)
        }
        return order.compactMap { members[$0] }
    }

    private func section(_ files: [ListedFile]) -> HTMLText {
        let name = files.first?.groupName ?? ""
        var section: HTMLText =
            "<section>\n<h2><bdi>\(name.isEmpty ? "A group without a name" : name)</bdi></h2>\n<ul>\n"
        for file in files { section += item(file.file) }
        section += "</ul>\n</section>\n"
        return section
    }

    private func item(_ file: FileRecord) -> HTMLText {
        let name = file.cloudName(types).rawValue
        let created = file.createdAt.description
        var item: HTMLText = "<li><figure>"
        if file.mimeType.rawValue.hasPrefix("image/") {
            item += "<a href=\"\(name)\"><img loading=\"lazy\" src=\"\(name)\" alt=\"Picture of \(created)\"></a>"
        } else if file.mimeType.rawValue == "text/plain" {
            item += "<iframe sandbox loading=\"lazy\" src=\"\(name)\" title=\"Text of \(created)\"></iframe>"
        }
        item += "<figcaption><a href=\"\(name)\">\(Self.word(for: file.mimeType))</a> of \(Self.time(file.createdAt))"
        if file.updatedAt != file.createdAt { item += ", changed \(Self.time(file.updatedAt))" }
        if let size = file.sizeBytes { item += ", \(Self.size(size))" }
        item += "</figcaption></figure></li>\n"
        return item
    }

    private static func word(for type: MIMEType) -> String {
        switch type.rawValue {
        case let text where text.hasPrefix("image/"): "Picture"
        case "text/plain": "Text"
        case "application/x-url": "Link"
        default: "File (\(type.rawValue))"
        }
    }

    private static func time(_ date: WireDate) -> HTMLText {
        let (day, clock) = (String(date.description.prefix(10)), String(date.description.suffix(8)))
        return "<time datetime=\"\(day)T\(clock)Z\">\(day) \(String(clock.prefix(5)))</time>"
    }

    private static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<1_000: "\(bytes) bytes"
        case ..<1_000_000: "\(bytes / 1_000) kB"
        default: "\(bytes / 1_000_000) MB"
        }
    }
}
