import HTTPTransport
import HTTPTypes
import Providers
import Synchronization
import TestSupport

/// A person's storage at a provider that says what the test says.
final class ScriptedStorage {
    let transport: ScriptedTransport
    let pauses = PauseRecord()
    let folder = RememberedFolder(name: "Sync Tests")
    private let tokens = NumberedTokens()
    /// Where the storage is, if its owner has named the server.
    var location: String? {
        get { tokens.location }
        set { tokens.location = newValue }
    }

    convenience init(_ replies: Reply...) { self.init(replies) }

    init(_ replies: [Reply]) { transport = ScriptedTransport(replies: replies) }

    init(_ script: @escaping ScriptedTransport.Script) { transport = ScriptedTransport(script) }

    func access(within time: Duration = .seconds(40)) -> StorageAccess {
        StorageAccess(
            transport: transport.transport, tokens: tokens, folder: folder, deadline: .after(time),
            backoff: pauses.backoff())
    }

    /// What was asked, as method, the header `Content-Range` or `Range` if there is one, and the number of bytes sent.
    var steps: [String] {
        transport.requests.map { request in
            let range = request.headers[.contentRange] ?? request.headers[.range]
            return [request.method.rawValue, range, "\(request.body?.count ?? 0)"].compactMap { $0 }.joined(
                separator: " ")
        }
    }

    /// The tokens of the requests.
    var bearers: [String] { transport.requests.map { $0.headers[.authorization] ?? "" } }
}

/// Tokens `T0`, `T1` and so on, each a renewal of the one before.
private final class NumberedTokens: AccessTokens {
    private var number = 0
    let accountKey: Int64 = 1
    var location: String?

    func current() -> String { "T\(number)" }

    func renewed(insteadOf rejected: String, by deadline: Deadline) -> String {
        if rejected == current() { number += 1 }
        return current()
    }
}
