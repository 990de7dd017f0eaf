import FoundationEssentials
import HTTPTransport

/// Reads the JSON bodies of account providers.
enum AccountJSON {
    /// - Throws: ``AccountError/unavailable(detail:)``: a provider that sends something else is not working.
    static func decode<T: Decodable>(_ type: T.Type, _ reply: Reply) throws(AccountError) -> T {
        do {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            return try decoder.decode(type, from: Data(reply.body))
        } catch {
            throw .unavailable(detail: "unreadable reply with status \(reply.status)")
        }
    }
}
