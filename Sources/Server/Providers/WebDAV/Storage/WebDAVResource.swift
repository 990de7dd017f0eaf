import Expat
import FoundationEssentials
import HTTPTransport
import HTTPTypes

/// A server's description of one resource in a reply to PROPFIND or SEARCH (RFC 4918, section 13; RFC 5323).
///
/// Properties in namespace `oc` belong to ownCloud and Nextcloud, and are missing on other servers.
struct WebDAVResource: Equatable {
    static let dav = "DAV:"
    static let ownCloud = "http://owncloud.org/ns"

    /// As in the reply; see ``WebDAVAddress/names(ofReference:)``.
    var reference: String
    var isCollection = false
    var sizeBytes: Int64?
    /// The entity tag without the mark of a weak one: Apache sends weak tags while a file is less than a second old.
    var entityTag: String?
    var modified: String?
    /// `oc:fileid`: unchanged when the resource is renamed or moved.
    var fileID: String?
    /// The MD5 among `oc:checksums`, in lower case.
    var md5: String?
    /// The number of bytes that may still be stored (RFC 4331); a negative number means that it is unknown.
    var availableBytes: Int64?
    /// A reference to the requesting person (RFC 5397).
    var principal: String?
    /// ownCloud, for a file's number: its path below the person's files.
    var path: String?

    /// The properties that ``init(_:)`` reads, as the body of a PROPFIND.
    static let propertyNames =
        "<d:resourcetype/><d:getcontentlength/><d:getetag/><d:getlastmodified/><oc:fileid/><oc:checksums/>"

    /// A body that requests these properties.
    static func propfind(_ names: String = propertyNames) -> OutgoingBody {
        let text =
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
            + "<d:propfind xmlns:d=\"DAV:\" xmlns:oc=\"\(ownCloud)\"><d:prop>\(names)</d:prop></d:propfind>"
        return .bytes(Array(text.utf8)[...])
    }

    /// The resources in the body of a multistatus; `nil` for any other body.
    static func all(in body: [UInt8]) -> [WebDAVResource]? {
        guard let root = try? XMLElement(parsing: body), root.isNamed("multistatus", in: dav) else { return nil }
        return root.children.compactMap(WebDAVResource.init)
    }

    /// - Parameter response: an element `d:response`.
    /// - Returns: `nil` for a different element, or if the server could not examine the resource.
    init?(_ response: XMLElement) {
        guard response.isNamed("response", in: Self.dav), let reference = response.child("href", in: Self.dav)?.text
        else { return nil }
        self.reference = reference.trimmingBlanks
        let found = response.children("propstat", in: Self.dav).filter {
            Self.isSuccess($0.child("status", in: Self.dav)?.text)
        }
        // A response with a status instead of properties reports an error with that resource.
        guard !found.isEmpty else { return nil }
        for property in found.flatMap({ $0.child("prop", in: Self.dav)?.children ?? [] }) { read(property) }
    }

    private mutating func read(_ property: XMLElement) {
        let text = property.text.trimmingBlanks
        switch (property.namespace, property.name) {
        case (Self.dav, "resourcetype"): isCollection = property.child("collection", in: Self.dav) != nil
        case (Self.dav, "getcontentlength"): sizeBytes = Int64(text).flatMap { $0 >= 0 ? $0 : nil }
        case (Self.dav, "getetag"): entityTag = Self.strong(text)
        case (Self.dav, "getlastmodified"): modified = text.isEmpty ? nil : text
        case (Self.dav, "quota-available-bytes"): availableBytes = Int64(text)
        case (Self.dav, "current-user-principal"): principal = property.child("href", in: Self.dav)?.text.trimmingBlanks
        case (Self.ownCloud, "fileid"): fileID = text.isEmpty ? nil : text
        case (Self.ownCloud, "meta-path-for-user"): path = text.isEmpty ? nil : text
        case (Self.ownCloud, "checksums"): md5 = Self.md5(in: property)
        default: break
        }
    }

    /// A value that changes whenever the contents change, of at most 255 visible characters; `nil` if the server
    /// reports none.
    var revision: String? {
        if let entityTag, entityTag.utf8.count <= 255 { return entityTag }
        guard let modified, let sizeBytes else { return nil }
        return "\(sizeBytes)-" + modified.filter { !$0.isWhitespace }
    }

    /// An entity tag without `W/` and quotation marks.
    static func strong(_ tag: String) -> String? {
        let bare = (tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...]).filter { $0 != "\"" }
        return bare.isEmpty ? nil : bare
    }

    /// `SHA1:… MD5:… ADLER32:…` in one element, or each in a separate one.
    private static func md5(in checksums: XMLElement) -> String? {
        let texts = checksums.children("checksum", in: ownCloud).map(\.text) + [checksums.text]
        return texts.flatMap { $0.split(whereSeparator: \.isWhitespace) }
            .first { $0.lowercased().hasPrefix("md5:") }.map { $0.dropFirst(4).lowercased() }
            .flatMap { $0.utf8.count == 32 ? $0 : nil }
    }

    /// `HTTP/1.1 200 OK`
    private static func isSuccess(_ status: String?) -> Bool {
        guard let word = status?.split(whereSeparator: \.isWhitespace).dropFirst().first else { return false }
        return word.count == 3 && word.hasPrefix("2")
    }
}

extension String {
    fileprivate var trimmingBlanks: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
