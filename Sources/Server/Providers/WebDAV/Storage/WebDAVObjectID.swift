import SyncProtocol

/// The identifier of an object on a WebDAV server.
enum WebDAVObjectID: Equatable {
    /// `id:17`: `oc:fileid` of ownCloud and Nextcloud.
    case file(String)
    /// `name:photo.jpg`, percent-encoded: on other servers, where a renamed file becomes a different object.
    case name(String)

    /// - Throws: ``CloudStorageError/notFound`` for any other text: no object has such an identifier.
    init(_ text: String) throws(CloudStorageError) {
        if let fileID = text.dropping(prefix: "id:").map(String.init), Self.isFileID(fileID) {
            self = .file(fileID)
        } else if let encoded = text.dropping(prefix: "name:"), let name = PercentEncoding.decode(encoded),
            !name.isEmpty, !name.contains("/")
        {
            self = .name(name)
        } else {
            throw .notFound
        }
    }

    var text: String {
        switch self {
        case .file(let fileID): "id:" + fileID
        case .name(let name): "name:" + PercentEncoding.encode(name)
        }
    }

    /// Whether `text` has the form of `oc:fileid`: a number.
    static func isFileID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// The number in `OC-FileId`, which consists of `oc:fileid` with leading zeros and of the name of the server's
    /// installation, which begins with a letter (`00000017ocz4fdk5c0w1`).
    static func fileID(inHeader value: String) -> String? {
        let digits = value.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty, let number = Int64(digits) else { return nil }
        return String(number)
    }
}

extension String {
    fileprivate func dropping(prefix: String) -> Substring? { hasPrefix(prefix) ? dropFirst(prefix.count) : nil }
}
