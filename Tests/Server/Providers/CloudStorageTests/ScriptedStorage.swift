import HTTPTransport
import HTTPTypes
import Providers
import Synchronization
import TestSupport

/// A person's storage at a provider whose replies the test defines.
final class ScriptedStorage {
    let transport: ScriptedTransport
    let pauses = PauseRecord()
    let folder = RememberedFolder(name: "Sync Tests")
    private let tokens: NumberedTokens
    /// The storage's location, if its owner has named the server.
    var location: String? {
        get { tokens.location }
        set { tokens.location = newValue }
    }
    /// The ``location`` after a renewal.
    var renewedLocation: String? {
        get { tokens.renewedLocation }
        set { tokens.renewedLocation = newValue }
    }

    convenience init(_ replies: Reply...) { self.init(replies) }

    /// - Parameters:
    ///   - location: the storage's location, if its owner names it.
    ///   - renews: whether a rejected token is renewed.
    init(_ replies: [Reply], location: String? = nil, renews: Bool = true) {
        transport = ScriptedTransport(replies: replies)
        tokens = NumberedTokens(location: location, renews: renews)
    }

    init(_ script: @escaping ScriptedTransport.Script) {
        transport = ScriptedTransport(script)
        tokens = NumberedTokens(location: nil, renews: true)
    }

    func access(within time: Duration = .seconds(40)) -> StorageAccess {
        StorageAccess(
            transport: transport.transport, tokens: tokens, folder: folder, deadline: .after(time),
            backoff: pauses.backoff())
    }

    /// The requests: method, header `Content-Range` or `Range` if present, and number of bytes sent.
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

/// Tokens `T0`, `T1` and so on, each a renewal of the previous one.
private final class NumberedTokens: AccessTokens {
    private var number = 0
    let accountKey: Int64 = 1
    var location: String?
    var renewedLocation: String?
    private let renews: Bool

    init(location: String?, renews: Bool) {
        self.location = location
        self.renews = renews
    }

    func current() -> AccessToken { AccessToken("T\(number)", at: location) }

    func renewed(insteadOf rejected: String, by deadline: Deadline) -> AccessToken {
        if renews, rejected == current().text {
            number += 1
            location = renewedLocation ?? location
        }
        return current()
    }
}
