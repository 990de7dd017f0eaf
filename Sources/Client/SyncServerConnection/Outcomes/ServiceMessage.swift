import Foundation
import HTTPTypes
import SyncProtocol

/// What a reply says to people while the service is closed: one line of text, whoever has sent it. The server sends JSON, an
/// operator's own page or a proxy HTML, a `FailoverMessage` plain text.
struct ServiceMessage {
    /// What is kept of a message, in characters.
    private static let maximumCharacters = 1_000
    /// Larger bodies are no messages.
    private static let maximumBytes = 64 << 10

    /// Not empty; without markup, line breaks and control characters.
    let text: String

    /// Nil if the reply says nothing.
    init?(_ reply: HTTPReply) {
        guard reply.body.count <= Self.maximumBytes, let body = String(data: reply.body, encoding: .utf8) else {
            return nil
        }
        let type = reply.header(HTTPField.Name.contentType)?.lowercased() ?? ""
        let trimmed = body.trimmingCharacters(in: .whitespacesAndNewlines)
        let message: String
        if type.contains("json") || trimmed.hasPrefix("{") {
            guard let member = Self.member(of: reply.body) else { return nil }
            message = member
        } else if type.contains("html") || trimmed.hasPrefix("<") {
            message = Self.withoutMarkup(trimmed)
        } else {
            message = trimmed
        }
        let line = message.unicodeScalars
            .split { CharacterSet.whitespacesAndNewlines.contains($0) || CharacterSet.controlCharacters.contains($0) }
            .map { String(String.UnicodeScalarView($0)) }.joined(separator: " ")
        guard !line.isEmpty else { return nil }
        text = String(line.prefix(Self.maximumCharacters))
    }

    private struct OtherBody: Decodable {
        var message: String?
    }

    /// The sentence in JSON: of the server, of problem details (RFC 9457), of others, or the text that is all.
    private static func member(of json: Data) -> String? {
        let decoder = JSONDecoder()
        if let text = try? decoder.decode(String.self, from: json) { return text }
        let body = try? decoder.decode(ReceivedErrorBody.self, from: json)
        let others = try? decoder.decode(OtherBody.self, from: json)
        return body?.error ?? body?.detail ?? others?.message ?? body?.title
    }

    /// The text of a page, without what is not displayed.
    private static func withoutMarkup(_ page: String) -> String {
        // Elements within a line leave no space behind, others do.
        let patterns = [
            (#"(?is)<!--.*?-->|<(head|script|style)\b.*?</\1\s*>"#, " "),
            (#"(?i)</?(a|abbr|b|code|em|i|small|span|strong|u)(\s[^>]*)?>"#, ""), (#"<[^>]*>"#, " "),
        ]
        var text = page
        for (pattern, replacement) in patterns {
            text = text.replacingOccurrences(of: pattern, with: replacement, options: .regularExpression)
        }
        // What a text must not contain literally, and what stands for a space. Ampersands come last, since they begin the
        // others.
        for (entity, character) in [
            ("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"),
            ("&amp;", "&"),
        ] { text = text.replacingOccurrences(of: entity, with: character) }
        return text
    }
}
