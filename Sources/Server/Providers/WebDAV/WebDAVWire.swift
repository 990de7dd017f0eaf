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

/// Classifies the replies of WebDAV servers by the action they require (RFC 4918, section 11; RFC 9110).
///
/// Error bodies differ from server to server, and are examined for two purposes only: whether a page replaces the
/// server's own rejection, and whether Nextcloud requires acceptance of its terms of service.
enum WebDAVVerdict {
    /// - Parameter answers: the error statuses for which the caller wants to see the reply.
    static func classify(_ reply: Reply, accepting answers: Set<Int> = []) -> ReplyVerdict {
        if (200..<300).contains(reply.status) || answers.contains(reply.status) { return .answer }
        switch reply.status {
        // No other sign shows that a password was withdrawn; see ``WebDAVAccount``.
        case 401: return isOwnRefusal(reply) ? .tokenRejected : .tokenDoubted
        case 403 where wantsTermsAccepted(reply): return .failure(.termsNotAccepted)
        case 404, 410: return .failure(.notFound)
        case 507: return .failure(.quotaExceeded)
        case 501, 505, 506, 508, 510: return .failure(.rejected(code: "\(reply.status)"))
        // Locked by somebody else, or while Nextcloud is still assembling a file (423); also statuses of proxies whose
        // server is unavailable, such as Cloudflare's 520 to 530.
        case 408, 423, 425, 500...:
            return .tryAgain(after: reply.head.retryAfter, detail: "status \(reply.status)")
        case 429: return .throttled(after: reply.head.retryAfter, detail: "status 429")
        case 409, 412: return .failure(.unavailable(detail: "status \(reply.status)"))
        default: return .failure(.rejected(code: "\(reply.status)"))
        }
    }

    /// Whether a 401 comes from a WebDAV server. A server's 401 has a challenge (RFC 9110, section 11.6.1, requires
    /// one); a 401 without one comes from a captive portal, a gateway, or a proxy's own sign-in.
    static func isOwnRefusal(_ reply: Reply) -> Bool { !reply.head.headers[values: .wwwAuthenticate].isEmpty }

    /// Whether a 401 offers Digest (RFC 7616), but neither Basic nor bearer tokens.
    static func offersDigestOnly(_ reply: Reply) -> Bool {
        let challenges = reply.head.headers[values: .wwwAuthenticate].map { $0.lowercased() }
        func offers(_ scheme: String) -> Bool {
            challenges.contains { $0.hasPrefix(scheme + " ") || $0.contains(", \(scheme) ") }
        }
        return offers("digest") && !offers("basic") && !offers("bearer")
    }

    /// Whether Nextcloud rejects everything until the person has accepted its terms of service (app `terms_of_service`,
    /// `TermsNotSignedException`).
    static func wantsTermsAccepted(_ reply: Reply) -> Bool {
        String(decoding: reply.body.prefix(4_096), as: UTF8.self).contains("TermsNotSignedException")
    }
}
