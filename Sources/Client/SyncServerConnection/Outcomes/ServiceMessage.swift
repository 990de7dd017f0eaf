import Foundation
import HTTPTypes
import SyncProtocol

/// A reply's message to people while the service is closed: one line of text, from any sender. The server sends JSON,
/// an operator's own page or a proxy sends HTML, a `FailoverMessage` is plain text.
struct ServiceMessage {
    /// Maximum length of a message, in characters.
    private static let maximumCharacters = 1_000
    /// Larger bodies are not messages.
    private static let maximumBytes = 64 << 10

    /// Not empty; without markup, line breaks and control characters.
    let text: String

    /// Nil if the reply contains no message.
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

    /// The message in JSON: the server's, that of problem details (RFC 9457) or of other formats, or a single string.
    private static func member(of json: Data) -> String? {
        let decoder = JSONDecoder()
        if let text = try? decoder.decode(String.self, from: json) { return text }
        let body = try? decoder.decode(ReceivedErrorBody.self, from: json)
        let others = try? decoder.decode(OtherBody.self, from: json)
        return body?.error ?? body?.detail ?? others?.message ?? body?.title
    }

    /// The displayed text of a page.
    private static func withoutMarkup(_ page: String) -> String {
        // Inline elements leave no space behind; others do.
        let patterns = [
            (#"(?is)<!--.*?-->|<(head|script|style)\b.*?</\1\s*>"#, " "),
            (#"(?i)</?(a|abbr|b|code|em|i|small|span|strong|u)(\s[^>]*)?>"#, ""), (#"<[^>]*>"#, " "),
        ]
        var text = page
        for (pattern, replacement) in patterns {
            text = text.replacingOccurrences(of: pattern, with: replacement, options: .regularExpression)
        }
        // Escaped characters and spaces. Ampersands come last, since they begin the other entities.
        for (entity, character) in [
            ("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&apos;", "'"),
            ("&amp;", "&"),
        ] { text = text.replacingOccurrences(of: entity, with: character) }
        return text
    }
}
