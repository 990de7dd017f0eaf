import FoundationEssentials
import HTTPTransport
import HTTPTypes
import UntrustedInput

/// One call to a provider, in a form that can be published: without names, identifiers, tokens and contents.
public struct TrialCall: Encodable, Equatable, Sendable {
    public var method: String
    /// The host if it is the same for all customers, with `*` for a customer's part; `-` for a server that people name.
    public var host: String
    /// The path, with `…` for each segment that is not one of the provider's interface.
    public var path: String
    /// `nil` without a reply.
    public var status: Int?
    /// The provider's error code; never its text.
    public var code: String?
    /// The media type of the reply.
    public var mediaType: String?
    /// `Content-Range` of the reply, in bytes.
    public var contentRange: String?
    /// Why the reply is missing or incomplete.
    public var failure: String?

    init(_ request: OutgoingRequest) {
        method = request.method.rawValue
        let address = HTTPSAddress(request.url)
        host = Self.shape(ofHost: address?.host ?? "", at: request.call.service)
        path = Self.shape(ofPath: address?.path ?? "/…")
    }

    /// The result, as a short text.
    public var outcome: String {
        var words = [status.map { "status \($0)" } ?? "no reply"]
        words += [code, mediaType, failure].compactMap(\.self)
        return words.joined(separator: ", ")
    }

    /// Whether it succeeded: its reply was complete, with a status of success or redirection.
    var isSmooth: Bool { failure == nil && status.map { $0 < 400 } ?? false }

    /// Whether the reply is a web page.
    var isPage: Bool { mediaType == "text/html" }

    mutating func note(_ head: ReplyHead) {
        status = head.status
        mediaType = head.headers[.contentType].flatMap(Self.mediaType)
        contentRange = head.headers[.contentRange].flatMap(Self.counts)
    }

    mutating func note(_ error: TransportError) { failure = error.description }

    mutating func note(_ body: [UInt8]) {
        guard let status else { return }
        code = Self.code(in: Reply(head: ReplyHead(status: status, headers: [:]), body: body))
    }

    // MARK: Shapes

    /// The path segments of the providers' interfaces; other segments may be names or identifiers.
    private static let segments: Set<Substring> = [
        "2", "about", "append_v2", "apppassword", "approot", "auth", "children", "common", "content", "continue",
        "core", "createUploadSession", "dav", "debug_token", "delete_v2", "discovery", "download", "drive", "files",
        "finish", "generateIds", "get_current_account", "get_metadata", "get_space_usage", "items", "keys",
        "list_folder", "me", "move_v2", "oauth", "oauth2", "ocs", "remote.php", "revoke", "special", "start", "token",
        "tokeninfo", "upload", "upload_session", "uploads", "userinfo", "users", "v1.0", "v2.0", "v2.php", "v3",
    ]

    private static func shape(ofPath path: Substring) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.isEmpty || segments.contains($0) ? String($0) : "…" }.joined(separator: "/")
    }

    private static func shape(ofHost host: String, at service: ExternalService) -> String {
        guard let entry = service.entry(for: host) else { return "-" }
        return entry.hasPrefix(".") ? "*" + entry : entry
    }

    /// `text/html` of `text/html; charset=UTF-8`.
    private static func mediaType(_ field: String) -> String? {
        let type = field.prefix { $0 != ";" && $0 != " " }.lowercased()
        let isOne = type.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"),
                UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isOne && type.count <= 64 ? type : nil
    }

    /// `bytes 0-9/10`, if the field has this form.
    private static func counts(_ field: String) -> String? {
        let isOne =
            field.utf8.count <= 64 && field.hasPrefix("bytes ")
            && field.dropFirst(6).utf8.allSatisfy { (0x30...0x39).contains($0) || "-/*".utf8.contains($0) }
        return isOne ? field : nil
    }

    // MARK: Error codes

    private struct TaggedBody: Decodable {
        struct Tag: Decodable {
            var tag: String
            private enum CodingKeys: String, CodingKey { case tag = ".tag" }
        }
        var error: Tag
    }

    private struct ReasonedBody: Decodable {
        struct Content: Decodable {
            struct Item: Decodable {
                var reason: String?
            }
            var errors: [Item]?
        }
        var error: Content
    }

    /// The code in an error body: an OAuth or Graph code, Google's reason, Dropbox's tag, Amazon's or Sabre's name.
    private static func code(in reply: Reply) -> String? {
        guard reply.status >= 400, reply.body.count <= 16_384 else { return nil }
        let reason = (try? UntrustedJSON.decode(ReasonedBody.self, from: reply.body))?.error.errors?.first?.reason
        let tag = (try? UntrustedJSON.decode(TaggedBody.self, from: reply.body))?.error.tag
        let word =
            reason ?? tag ?? ProviderErrorCode(of: reply)?.description
            ?? element("Code", reply.body) ?? element("s:exception", reply.body)
        // A code has only a few words, so that texts for people are rejected.
        return word.flatMap { word in
            let isCode =
                word.utf8.count <= 96
                && word.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "):
                        true
                    default: "_-./\\".utf8.contains(byte)
                    }
                }
            return isCode ? word : nil
        }
    }

    /// The text of the first XML element of that name, found without a parser.
    private static func element(_ name: String, _ body: [UInt8]) -> String? {
        let text = String(decoding: body, as: UTF8.self)
        guard let start = text.firstRange(of: "<\(name)>"),
            let end = text[start.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }
}
