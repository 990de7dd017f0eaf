internal import HTTPTransport

/// A reply from SNS: XML, from which we read single elements.
///
/// https://docs.aws.amazon.com/sns/latest/api/Welcome.html
struct SNSReply {
    private let text: String

    /// - Throws: ``PushError`` if the reply is an error other than an ``EndpointExists``.
    init(_ reply: Reply) throws(SNSFailure) {
        text = String(decoding: reply.body, as: UTF8.self)
        guard reply.status != 200 else { return }
        throw SNSFailure(
            status: reply.status, code: element("Code") ?? "", message: element("Message") ?? "",
            retryAfter: reply.head.retryAfter)
    }

    /// The text of the first element with this name; `nil` if there is none.
    func element(_ name: String) -> String? {
        guard let start = text.firstRange(of: "<\(name)>"),
            let end = text[start.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return Self.unescaped(text[start.upperBound..<end.lowerBound])
    }

    /// The text of a required element.
    func required(_ name: String) throws(PushError) -> String {
        guard let value = element(name), !value.isEmpty, value.utf8.count <= 512, value.utf8.allSatisfy({ $0 < 0x7F })
        else { throw .unavailable(detail: "no \(name) in the reply") }
        return value
    }

    /// The five entities that XML defines without a document type (XML 1.0, section 4.6).
    private static func unescaped(_ text: Substring) -> String {
        var result = String(text)
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")] {
            result = result.split(separator: entity, omittingEmptySubsequences: false).joined(separator: character)
        }
        return result
    }
}

/// An error reported by SNS.
struct SNSFailure: Error {
    var status: Int
    /// The error code, such as `InvalidParameter`.
    var code: String
    /// SNS's own message; not for logs, since it quotes the request.
    var message: String
    var retryAfter: Duration?

    /// The device's ARN if SNS reports that the token is already registered with other attributes.
    ///
    /// The message is `Invalid parameter: Token Reason: Endpoint arn:… already exists with the same Token, but
    /// different attributes.` The mobile push documentation tells applications to extract the ARN from it.
    var existingEndpointARN: String? {
        guard code == "InvalidParameter", message.contains("already exists with the same Token"),
            let start = message.firstRange(of: "Endpoint arn:")
        else { return nil }
        return String(message[start.lowerBound...].dropFirst("Endpoint ".count).prefix { $0 != " " })
    }

    /// Maps the error codes in https://docs.aws.amazon.com/sns/latest/api/CommonErrors.html and on each action's page.
    var pushError: PushError {
        let word = PushError.word(code)
        switch code {
        case "EndpointDisabled", "NotFound", "NotFoundException": return .gone(since: nil)
        case "Throttled", "Throttling", "ThrottlingException", "KMSThrottling":
            return .rateLimited(retryAfter: retryAfter)
        case "InvalidParameter", "InvalidParameterValue", "ValidationError": return .rejected(detail: word)
        default: break
        }
        switch status {
        case 429: return .rateLimited(retryAfter: retryAfter)
        case 500...: return .unavailable(detail: "status \(status) \(word)")
        default: return .misconfigured(detail: "status \(status) \(word)")
        }
    }
}
