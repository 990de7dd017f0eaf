import FoundationEssentials
public import HTTPTransport
import UntrustedInput

/// The error code in a provider's error body, for the log; never the text for people.
///
/// OAuth token endpoints return a word (RFC 6749, section 5.2), and Microsoft's also the number after `AADSTS`; the
/// APIs of Google, Microsoft and Facebook return a word or a number inside an object.
public struct ProviderErrorCode: CustomStringConvertible {
    /// Error bodies are a few hundred bytes long.
    private static let maximumBytes = 16_384
    private static let maximumWordLength = 64

    public let description: String

    /// `nil` if the reply is not an error, or contains no such code.
    public init?(of reply: Reply) {
        guard reply.status >= 400, reply.body.count <= Self.maximumBytes,
            let body = try? UntrustedJSON.decode(
                Body.self, from: reply.body, keys: .convertFromSnakeCase), let word = body.error?.word,
            word.isIdentifier(upTo: Self.maximumWordLength)
        else { return nil }
        description = (body.errorCodes ?? []).reduce(word) { "\($0) AADSTS\($1)" }
    }

    private struct Body: Decodable {
        var error: Cause?
        var errorCodes: [Int]?
    }

    private struct Cause: Decodable {
        var word: String?

        private enum Member: CodingKey {
            case code
        }

        init(from decoder: any Decoder) throws {
            if let text = try? decoder.singleValueContainer().decode(String.self) {
                word = text
                return
            }
            let members = try decoder.container(keyedBy: Member.self)
            let number = try? members.decode(Int.self, forKey: .code)
            word = (try? members.decode(String.self, forKey: .code)) ?? number.map(String.init)
        }
    }
}
