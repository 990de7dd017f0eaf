import FoundationEssentials
import HTTPTransport
import UntrustedInput

/// How a provider calls what it refuses, in its error body: for the log, so never what it writes for people.
///
/// OAuth's token endpoints have a word (RFC 6749, section 5.2), Microsoft's the numbers behind `AADSTS` as well; Google's,
/// Microsoft's and Facebook's interfaces have a word or a number inside of an object.
struct ProviderErrorCode: CustomStringConvertible {
    /// Error bodies have some hundred bytes.
    private static let maximumBytes = 16_384
    private static let maximumWordLength = 64

    let description: String

    /// `nil` if the reply is no refusal, or does not say anything of that kind.
    init?(of reply: Reply) {
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
