import Foundation
import SyncAccounts
import SyncProtocol
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A provider that answers by path and records its requests.
final class ScriptedProvider: Sendable {
    struct Request: Sendable {
        let url: String
        let authorization: String?
        let form: [String: String]
    }

    private let answers: @Sendable (Request) async throws -> (Int, String)
    private let asked = Mutex<[Request]>([])

    init(_ answers: @escaping @Sendable (Request) async throws -> (Int, String)) { self.answers = answers }

    var requests: [Request] { asked.withLock { $0 } }

    var transport: ProviderTransport {
        ProviderTransport { [self] request in
            let body = String(decoding: request.httpBody ?? Data(), as: UTF8.self)
            var form: [String: String] = [:]
            for pair in body.split(separator: "&") where pair.contains("=") {
                let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                form[String(halves[0])] = String(halves[1]).removingPercentEncoding
            }
            let noted = Request(
                url: request.url?.absoluteString ?? "",
                authorization: request.value(forHTTPHeaderField: "Authorization"), form: form)
            asked.withLock { $0.append(noted) }
            let (status, text) = try await answers(noted)
            return ProviderTransport.Reply(status: status, body: Data(text.utf8))
        }
    }

    /// A working Google: it accepts all codes and refresh tokens, and its user is Alice.
    static func google() -> ScriptedProvider {
        ScriptedProvider { request in
            if request.url.hasSuffix("/userinfo") {
                return (200, #"{"sub": "1098", "name": "Alice Example", "email": "alice@example.com"}"#)
            }
            return request.form["grant_type"] == "refresh_token"
                ? (200, #"{"access_token": "ya29.renewed", "expires_in": 3599, "token_type": "Bearer"}"#)
                : (200, #"{"access_token": "ya29.first", "expires_in": 3599, "refresh_token": "1//refresh"}"#)
        }
    }
}

extension ScriptedProvider {
    /// A Nextcloud with the user alice.
    static func nextcloud() -> ScriptedProvider {
        ScriptedProvider { request in
            if request.url.hasSuffix("/nc/ocs/v2.php/cloud/user?format=json") {
                return (200, #"{"ocs": {"data": {"id": "alice a", "display-name": "Alice", "email": null}}}"#)
            }
            guard request.url.hasSuffix("/nc/index.php/apps/oauth2/api/v1/token") else { return (404, "") }
            let number = request.form["grant_type"] == "refresh_token" ? 2 : 1
            return (
                200,
                #"{"access_token": "a\#(number)", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r\#(number)"}"#
            )
        }
    }
}

extension AccountScheme {
    static let googleForTests = google(
        clientID: "1-desktop", clientSecret: "no-secret", serverClientID: "1-server", ports: [])
}

extension AccountCredentials {
    /// Alice's credentials, with an expired token.
    static let alice = AccountCredentials(
        accountType: .google, person: Person(id: "1098", name: "Alice Example", email: "alice@example.com"),
        accessToken: "ya29.old", refreshToken: "1//refresh",
        serverGrant: ServerGrant(
            code: "4/code", redirectURI: "http://127.0.0.1:49152/server",
            codeVerifier: String(repeating: "v", count: 43)))
}

/// A client on loopback: a browser, or a stranger.
struct LoopbackClient: Sendable {
    /// The server's reply.
    struct Reply: Sendable {
        let status: Int
        let headers: [String: String]
        let body: String
    }

    /// Fetches a URL without following redirects.
    static func get(_ url: String, host: String? = nil, method: String = "GET") async throws -> Reply {
        var request = URLRequest(url: URL(string: url)!)
        request.httpMethod = method
        if let host { request.setValue(host, forHTTPHeaderField: "Host") }
        let session = URLSession(configuration: .ephemeral, delegate: NoRedirects(), delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        // Not `data(for:)`: a completed sign-in cancels its browser, and on Linux `data(for:)` crashes on that.
        let asked = request
        let (data, http) = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<(Data, HTTPURLResponse), any Error>) in
            session.dataTask(with: asked) { data, response, error in
                if let data, let http = response as? HTTPURLResponse {
                    continuation.resume(returning: (data, http))
                } else {
                    continuation.resume(throwing: error ?? URLError(.badServerResponse))
                }
            }.resume()
        }
        var headers: [String: String] = [:]
        for (name, value) in http.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        return Reply(status: http.statusCode, headers: headers, body: String(decoding: data, as: UTF8.self))
    }

    private final class NoRedirects: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }
}

extension URL {
    /// The value of a query item.
    func item(_ name: String) -> String? {
        URLComponents(url: self, resolvingAgainstBaseURL: false)?.queryItems?.first { $0.name == name }?.value
    }
}
