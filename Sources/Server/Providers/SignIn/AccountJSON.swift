import FoundationEssentials
import HTTPTransport
import UntrustedInput

/// Reads the JSON bodies of account providers.
enum AccountJSON {
    /// - Throws: ``AccountError/unavailable(detail:)``: a provider that sends anything else is not working.
    static func decode<T: Decodable>(_ type: T.Type, _ reply: Reply) throws(AccountError) -> T {
        do {
            return try UntrustedJSON.decode(type, from: reply.body, keys: .convertFromSnakeCase)
        } catch {
            throw .unavailable(detail: "unreadable reply with status \(reply.status)")
        }
    }
}
