import FoundationEssentials
import HTTPTransport
import OpenSSLCrypto
import SyncProtocol
import UntrustedInput

/// The root collection of a person's files, and the addresses of resources below it.
struct WebDAVAddress: Equatable, Sendable {
    /// The collection's address; its path ends with a slash.
    let root: ServerAddress
    /// Who determined the host.
    let destination: OutgoingRequest.Destination

    /// The address of the resource with these names, from the collection downwards.
    ///
    /// The address of a collection ends with a slash: without one, servers redirect (Apache's `mod_dir`) or reject
    /// (nginx, for MKCOL).
    func url(_ names: [String], isCollection: Bool = false) -> String {
        root.text + Self.encoded(names) + (isCollection && !names.isEmpty ? "/" : "")
    }

    /// The address of a path on the same server.
    /// - Parameter path: decoded segments, from the server's root downwards.
    func url(absolute path: [String]) -> String { root.origin + "/" + Self.encoded(path) }

    /// The path of the resource with these names, for servers that do not accept a whole URL as `Destination` (RFC
    /// 4918, section 10.3, allows both).
    ///
    /// Behind a TLS-terminating proxy, a server may assume that it uses plain http, and reject the URL as belonging to
    /// a different server (WsgiDAV: 502). Other servers require a URL (Apache: 400).
    func path(_ names: [String]) -> String { root.path + Self.encoded(names) }

    /// The decoded segments of the collection's own path.
    var segments: [String] { Self.segments(ofPath: root.path[...]) ?? [] }

    /// The names, from the collection downwards, that a reply's `href` denotes: a whole URL or a path, escaped in any
    /// way (RFC 4918, section 8.3); empty for the collection itself.
    ///
    /// Compares only the path, since a proxy may have changed scheme and host.
    /// - Returns: `nil` for a resource elsewhere, or a text that is not a reference.
    func names(ofReference reference: String) -> [String]? {
        guard let segments = Self.segments(ofReference: reference) else { return nil }
        let own = self.segments
        guard segments.starts(with: own) else { return nil }
        return Array(segments.dropFirst(own.count))
    }

    /// The decoded segments of a whole URL's path, or of a path from the server's root downwards.
    static func segments(ofReference reference: String) -> [String]? {
        var path = reference[...]
        if let separator = path.firstRange(of: "://") {
            path = path[separator.upperBound...].drop { $0 != "/" }
        }
        return path.hasPrefix("/") ? segments(ofPath: path) : nil
    }

    /// The last name in a reference of any kind, such as a relative one in `Location`: a proxy in front of the server
    /// may have changed the rest.
    static func lastName(ofReference reference: String) -> String? {
        segments(ofPath: reference[...])?.last
    }

    /// `nil` if a segment is not UTF-8, has an invalid escape, or could be read as a different path.
    static func segments(ofPath path: Substring) -> [String]? {
        var segments: [String] = []
        for part in path.prefix(while: { $0 != "?" && $0 != "#" }).split(separator: "/") {
            guard let segment = PercentEncoding.decode(part), !segment.contains("/"), segment != ".", segment != ".."
            else { return nil }
            segments.append(segment)
        }
        return segments
    }

    private static func encoded(_ names: [String]) -> String {
        names.map { PercentEncoding.encode($0) }.joined(separator: "/")
    }
}

/// The location of a person's files, and the user name for them: `X-account-details`, and the part of it that is
/// stored.
struct WebDAVLocation: Equatable {
    private struct Details: Codable {
        var address: String
        var user: String?
    }

    private static let longestUserName = 255
    /// The limit for a stored identity.
    private static let longestIdentity = 255

    let root: ServerAddress
    /// The name sent with the password; `nil` if the token is a bearer token (RFC 6750).
    let user: String?

    /// Reads `{"address": "https://cloud.example.com/remote.php/dav/files/alice/", "user": "alice"}`.
    /// - Throws: ``AccountError/malformedDetails(_:)``.
    init(_ text: String?) throws(AccountError) {
        guard let text, let details = try? UntrustedJSON.decode(Details.self, from: text.utf8) else {
            throw .malformedDetails("must be JSON with the address of a folder on a WebDAV server and a user")
        }
        guard let root = ServerAddress(details.address) else {
            throw .malformedDetails("has an address that is not a folder on a WebDAV server")
        }
        let user = details.user.flatMap { $0.isEmpty ? nil : $0 }
        // A colon would end the name, and a control character the header (RFC 7617, section 2). If names could contain
        // a slash, two identities could have the same text.
        guard
            user.map({ user in
                user.utf8.count <= Self.longestUserName
                    && user.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != 0x3A && $0 != 0x2F }
            }) ?? true
        else { throw .malformedDetails("has a user name that cannot be sent") }
        self.root = root
        self.user = user
    }

    /// The location in the form of ``StoredCredentials/location``.
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let encoded = try? encoder.encode(Details(address: root.text, user: user))
        return encoded.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// The value of `Authorization`: user and password, or a bearer token.
    func authorization(_ token: String) -> String {
        guard let user else { return "Bearer " + token }
        return "Basic " + Data("\(user):\(token)".utf8).base64EncodedString()
    }

    /// The person's identity for us: their name on their server, and the address, so that no server can speak for
    /// another.
    func identity(of name: String) -> String {
        let identity = "\(name)@\(root.authority)\(root.path)"
        guard identity.unicodeScalars.count > Self.longestIdentity else { return identity }
        return "sha256:" + IncrementalDigest.digest(of: Array(identity.utf8), .sha256).hexLowercase
    }
}

/// The locations in Nextcloud and ownCloud of everything that belongs to a person's files at
/// `…/remote.php/dav/files/USER/`.
///
/// The path is only a hint; the replies show whether the server runs Nextcloud or ownCloud.
struct NextcloudPaths {
    private let address: WebDAVAddress
    /// The decoded segments before `remote.php`.
    private let base: [String]
    /// The owner of the files.
    let user: String
    /// The path of the account's collection, relative to the person's files.
    private let inner: [String]

    /// - Returns: `nil` for an address of a different form.
    init?(_ address: WebDAVAddress) {
        let segments = address.segments
        guard let start = segments.firstIndex(of: "remote.php"), segments.count >= start + 4,
            segments[start + 1] == "dav", segments[start + 2] == "files"
        else { return nil }
        self.address = address
        base = Array(segments[..<start])
        user = segments[start + 3]
        inner = Array(segments[(start + 4)...])
    }

    /// The decoded segments of the path at which a server is installed, which precede `remote.php`; `nil` if the
    /// address has a different form.
    static func base(of address: WebDAVAddress) -> [String]? {
        let segments = address.segments
        return segments.firstIndex(of: "remote.php").map { Array(segments[..<$0]) }
    }

    /// Whether the address is below `…/remote.php/dav/` but not one of a person's files: for example, calendars or the
    /// bin.
    static func isBesideFiles(_ address: WebDAVAddress) -> Bool {
        let segments = address.segments
        guard let start = segments.firstIndex(of: "remote.php") else { return false }
        return segments.dropFirst(start + 1).first == "dav" && NextcloudPaths(address) == nil
    }

    /// The address for searches below the person's files.
    var searchURL: String { address.url(absolute: base + ["remote.php", "dav"]) + "/" }

    /// The account's collection as a search names it: Nextcloud uses a path without a server literally, including
    /// percent signs (nextcloud/android, issue 6840).
    var searchScope: String { "/files/" + ([user] + inner).joined(separator: "/") }

    /// The address of ownCloud's metadata about a file, by its number.
    func metadata(ofFileID fileID: String) -> String {
        address.url(absolute: base + ["remote.php", "dav", "meta", fileID]) + "/"
    }

    /// The names, from the account's collection downwards, in a reference that contains the person's name in a
    /// different form than the address, such as in different letter case; only for replies about this person's own
    /// files.
    /// - Returns: `nil` if the reference is not below the collection.
    func names(ofReference reference: String) -> [String]? {
        guard let segments = WebDAVAddress.segments(ofReference: reference) else { return nil }
        let start = base + ["remote.php", "dav", "files"]
        guard segments.starts(with: start), segments.count > start.count else { return nil }
        return names(below: segments.dropFirst(start.count + 1))
    }

    /// The names in a path relative to the person's files; the path is not encoded.
    func names(ofPath path: String) -> [String]? {
        let segments = path.split(separator: "/").map(String.init)
        guard !segments.contains(where: { $0 == "." || $0 == ".." }) else { return nil }
        return names(below: segments[...])
    }

    private func names(below segments: ArraySlice<String>) -> [String]? {
        guard segments.starts(with: inner) else { return nil }
        return Array(segments.dropFirst(inner.count))
    }

    /// The folder of a chunked upload.
    func upload(_ id: String) -> String {
        address.url(absolute: base + ["remote.php", "dav", "uploads", user, id])
    }

    /// A route of the Open Collaboration Services.
    func services(_ route: String) -> String { address.url(absolute: base + ["ocs", "v2.php"]) + "/" + route }
}

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

/// The temporary name of an incomplete upload: the reservation's spare name and a suffix, so that the remains of an
/// interrupted upload can be found and deleted with the record of the reservation.
struct WebDAVTemporaryName {
    /// Nextcloud and ownCloud reject `.part`, which they use themselves, and Nextcloud also rejects `.filepart`
    /// (`FilenameValidator`).
    private static let suffix = ".uploading"
    let name: String
    /// The beginning of the names that a server may give to further copies: everything before the extension.
    var stem: Substring {
        let whole = name.dropLast(Self.suffix.count)
        return whole[..<(whole.lastIndex(of: ".") ?? whole.endIndex)]
    }

    /// - Parameter hash: the hash of the contents, in hexadecimal digits. Without a spare name, it produces the same
    ///   name for each attempt to upload the same contents, so that a successful attempt moves away what earlier ones
    ///   left behind.
    init(of reservation: ObjectReservation, hash: String) {
        if let upload = Self(ofSpareName: reservation.spareName ?? reservation.name) {
            self = upload
        } else {
            name = ObjectReservation.name(reservation.name, marked: String(hash.prefix(8))) + Self.suffix
        }
    }

    /// - Returns: `nil` for a name without the form of ``ObjectReservation/spareName(for:)``.
    init?(ofSpareName name: String) {
        let stem = name[..<(name.lastIndex(of: ".") ?? name.endIndex)]
        guard let tilde = stem.lastIndex(of: "~") else { return nil }
        let random = stem[stem.index(after: tilde)...]
        guard random.utf8.count == 8, random.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else { return nil }
        self.name = name + Self.suffix
    }
}
