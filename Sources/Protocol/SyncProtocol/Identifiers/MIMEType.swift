/// The type of a file's contents, for example `image/jpeg`; fixed for the lifetime of a file.
///
/// Any text of 1 to 100 characters is a value; ``MIMETypeTable`` decides whether a type may be uploaded. Compared
/// exactly, as clients do.
public struct MIMEType: WireText, Hashable {
    /// What a query value must look like.
    public static let expectedForm = ExpectedForm.mimeType

    /// Maximum length of accepted text, in Unicode scalars.
    public static let maximumCharacters = 100

    /// The type as sent in messages.
    public let rawValue: String

    /// Creates a type from its text; nil if it is empty or longer than 100 characters.
    public init?(_ text: String) {
        guard (1...Self.maximumCharacters).contains(text.unicodeScalars.count) else { return nil }
        rawValue = text
    }

    private init(known text: StaticString) { rawValue = text.description }
}

extension MIMEType {
    // The types that every client knows.
    /// Plain text in UTF-8.
    public static let text = MIMEType(known: "text/plain")
    /// A JPEG picture.
    public static let jpeg = MIMEType(known: "image/jpeg")
    /// A link, as a file of the form `.url`.
    public static let url = MIMEType(known: "application/x-url")

    // Pictures.
    /// An HEIC picture, as cameras of phones take them.
    public static let heic = MIMEType(known: "image/heic")
    /// An HEIF picture.
    public static let heif = MIMEType(known: "image/heif")
    /// A PNG picture, such as a screenshot.
    public static let png = MIMEType(known: "image/png")
    /// A GIF picture or animation.
    public static let gif = MIMEType(known: "image/gif")
    /// A WebP picture.
    public static let webp = MIMEType(known: "image/webp")
    /// An AVIF picture.
    public static let avif = MIMEType(known: "image/avif")
    /// A raw picture (DNG).
    public static let dng = MIMEType(known: "image/x-adobe-dng")

    // Videos and recordings.
    /// An MPEG-4 video.
    public static let mp4 = MIMEType(known: "video/mp4")
    /// A QuickTime video, as cameras of Apple's devices take them.
    public static let quickTime = MIMEType(known: "video/quicktime")
    /// A 3GPP video.
    public static let video3GPP = MIMEType(known: "video/3gpp")
    /// An MPEG-4 recording (`.m4a`).
    public static let m4a = MIMEType(known: "audio/mp4")
    /// An AAC recording.
    public static let aac = MIMEType(known: "audio/aac")
    /// An MP3 recording.
    public static let mp3 = MIMEType(known: "audio/mpeg")
    /// A 3GPP recording.
    public static let audio3GPP = MIMEType(known: "audio/3gpp")

    // Documents and data.
    /// A PDF document.
    public static let pdf = MIMEType(known: "application/pdf")
    /// JSON.
    public static let json = MIMEType(known: "application/json")

    /// The extension, without a dot, that servers give to files of this type in cloud storage: `dat` for types without
    /// a constant.
    public var fileExtension: String { Self.extensions[self] ?? "dat" }

    fileprivate static let extensions: [MIMEType: String] = [
        text: "txt", jpeg: "jpg", url: "url", heic: "heic", heif: "heif", png: "png", gif: "gif", webp: "webp",
        avif: "avif", dng: "dng", mp4: "mp4", quickTime: "mov", video3GPP: "3gp", m4a: "m4a", aac: "aac", mp3: "mp3",
        audio3GPP: "3gp", pdf: "pdf", json: "json",
    ]
}

/// The MIME types that may be uploaded.
///
/// A type that an installed client does not know stops some deployed clients from syncing the whole group: an operator
/// whose users have such clients accepts only ``deployed``. `unknown`, a client's marker of an error, can never be
/// added.
public struct MIMETypeTable: Sendable, Hashable {
    /// The three types that every deployed client knows; no table lacks them.
    public static let deployed = MIMETypeTable([.text, .jpeg, .url])

    /// The types with constants, which include photos, recordings and scans of phones. The default.
    public static let standard = MIMETypeTable(Set(MIMEType.extensions.keys))

    private let accepted: Set<MIMEType>

    /// The types, in the order of their texts.
    public let types: [MIMEType]

    private init(_ accepted: Set<MIMEType>) {
        self.accepted = accepted
        types = accepted.sorted { $0.rawValue < $1.rawValue }
    }

    /// Whether a type may be uploaded.
    public func accepts(_ type: MIMEType) -> Bool { accepted.contains(type) }

    /// The table with additional types.
    ///
    /// Nil unless each is a type and a subtype in lower case, such as `image/heic`, of at most 100 characters in all: a
    /// type is compared exactly, and becomes part of headers.
    public func adding(_ additional: [String]) -> MIMETypeTable? {
        var merged = accepted
        for text in additional {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, parts.allSatisfy(Self.isName), let type = MIMEType(text) else { return nil }
            merged.insert(type)
        }
        return MIMETypeTable(merged)
    }

    /// RFC 6838, section 4.2, in lower case.
    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first else { return false }
        func isLetterOrDigit(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) }
        return isLetterOrDigit(first) && text.utf8.allSatisfy { isLetterOrDigit($0) || "!#$&-^_.+".utf8.contains($0) }
    }

    /// The extension that SyncServerII gave to files of a type in cloud storage; it had one for every type.
    public static func extensionOfOlderServers(for type: MIMEType) -> String {
        if type.rawValue == "unknown" { return "unknown" }
        return deployed.accepts(type) ? type.fileExtension : "dat"
    }
}
