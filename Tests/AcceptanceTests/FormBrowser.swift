import Curl
import Foundation
import TestSupport
import Testing

/// A browser without scripts or pictures that follows redirects and fills in one form, like a person in front of it.
///
/// It connects to the stack's sandbox for all host names, and trusts only the sandbox's certificate authority.
struct FormBrowser: ConsentBrowser {
    /// A page that the browser has loaded.
    struct Page: Sendable {
        let status: Int
        let location: String?
        let body: String
    }

    private static let maximumSteps = 10
    private let routing: Routing
    private let account: String

    /// - Parameter account: the sandbox's id of the person's account.
    init(_ server: TestServer, account: String) throws {
        CurlLibrary.initialize()
        let port = try server.environment.value("SANDBOX_TLS_PORT")
        routing = Routing(connectTo: "127.0.0.1:\(port)", caFile: server.certificateAuthorityFile)
        self.account = account
    }

    func visit(_ url: String, decisions: [ConsentDecision]) throws -> String {
        try follow(url, decisions, isEnd: { _ in false })
    }

    /// Decides on each consent page until the provider redirects to `app`, and returns that address, as a phone's web
    /// session does.
    func redirect(from url: String, to app: String, decisions: [ConsentDecision]) throws -> String {
        try follow(url, decisions, isEnd: { $0.hasPrefix(app + "?") })
    }

    /// Returns the address that is the end, or else the text of the last page.
    private func follow(
        _ url: String, _ decisions: [ConsentDecision], isEnd: (String) -> Bool
    ) throws -> String {
        var decisions = decisions[...]
        var next = url
        for _ in 0..<Self.maximumSteps {
            if isEnd(next) { return next }
            let page = try fetch(next)
            if let location = page.location {
                next = try #require(URL(string: location, relativeTo: URL(string: next))?.absoluteString)
                continue
            }
            guard let action = page.body.firstMatch(of: /<form method=post action="([^"]*)">/)?.1 else {
                #expect(page.status == 200)
                return page.body
            }
            let decision = decisions.popFirst() ?? .deny
            #expect(page.body.contains("<option value=\"\(account)\""))
            #expect(page.body.contains("<button name=decision value=\(decision.rawValue)>"))
            let target = String(action).replacing("&amp;", with: "&").replacing("&#39;", with: "'")
            let address = try #require(URL(string: target, relativeTo: URL(string: next))?.absoluteString)
            let form = "account=\(ClientQuery.encode(account))&decision=\(decision.rawValue)"
            let answer = try send("POST", address, form)
            next = try #require(answer.location, "\(answer.body)")
        }
        throw TestFailure.tooManySteps
    }

    private func fetch(_ url: String) throws -> Page { try send("GET", url, nil) }

    private func send(_ method: String, _ url: String, _ form: String?) throws -> Page {
        let address = try #require(URL(string: url))
        guard address.scheme == "https" else {
            let port = try #require(address.port)
            let reply = try HTTPAddress("http://\(try #require(address.host)):\(port)").perform(
                HTTPCall(method, address.path + (address.query(percentEncoded: true).map { "?" + $0 } ?? "")))
            return Page(
                status: reply.status, location: reply.values(of: "location").first,
                body: String(decoding: reply.body, as: UTF8.self))
        }
        var handle = try EasyHandle(routing: routing)
        let type = (name: "Content-Type", value: "application/x-www-form-urlencoded")
        let response = try handle.perform(
            Request(
                method: method, url: url, headers: form == nil ? [] : [type],
                body: form.map { .bytes(Array($0.utf8)) } ?? .none))
        return Page(
            status: response.status, location: response.value(of: "location"),
            body: String(decoding: response.body, as: UTF8.self))
    }

    private enum TestFailure: Error {
        case tooManySteps
    }
}
