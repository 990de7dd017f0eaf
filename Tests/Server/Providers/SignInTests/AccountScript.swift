import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

/// An account provider that answers by path, and a client that retries without waiting.
struct AccountScript {
    let transport: ScriptedTransport
    let pauses = PauseRecord()

    /// - Parameter replies: by the end of the path, such as `tokeninfo`; any other path gets a 404 without a body.
    init(_ replies: [String: Reply]) {
        transport = ScriptedTransport { request in
            let path = request.url.prefix { $0 != "?" }
            return replies.first { path.hasSuffix("/" + $0.key) }?.value ?? Reply(404)
        }
    }

    /// Answers according to the address without its query.
    init(answering reply: @escaping @Sendable (String) -> Reply) {
        transport = ScriptedTransport { request in reply(String(request.url.prefix { $0 != "?" })) }
    }

    /// Answers in order, whatever the requests.
    init(inOrder replies: [Reply]) { transport = ScriptedTransport(replies: replies) }

    /// Fails every request.
    init(failing error: TransportError) { transport = ScriptedTransport { _ throws(TransportError) in throw error } }

    var client: AccountClient { client(within: .seconds(40)) }

    func client(within time: Duration) -> AccountClient {
        AccountClient(transport: transport.transport, deadline: .after(time), backoff: pauses.backoff())
    }

    /// The requested paths, without queries; each must be at a host of the service that the request names.
    var paths: [String] {
        for request in transport.requests {
            let host = HTTPSAddress(request.url)?.host ?? ""
            #expect(request.call.service.entry(for: host) != nil, "\(host) is not \(request.call.service)'s")
        }
        return transport.requests.map { String($0.url.prefix { $0 != "?" }) }
    }
}

extension PresentedCredentials {
    static let google = PresentedCredentials(
        accountType: .google, accessToken: "ya29.device", authorizationCode: "4/code")
    static let facebook = PresentedCredentials(accountType: .facebook, accessToken: "EAAdevice")
}

extension Reply {
    /// A WebDAV server's reply to a wrong password.
    static let refusedPassword = Reply(401, "", headers: [.wwwAuthenticate: "Basic realm=\"files\""])
}
