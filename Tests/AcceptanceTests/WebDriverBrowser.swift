import Foundation
import TestSupport
import Testing

/// Whatever shows consent pages to the person of a test.
protocol ConsentBrowser: Sendable {
    /// Opens `url`, decides on the pages that come, and goes on until there is nothing more to be done.
    /// - Returns: the text of the last page.
    func visit(_ url: String, decisions: [ConsentDecision]) throws -> String
}

/// What the person does on a provider's page.
enum ConsentDecision: String, Sendable {
    case allow, deny
}

/// A real browser, driven by the W3C's WebDriver protocol; `scripts/check-consent` starts one.
struct WebDriverBrowser: ConsentBrowser {
    private let sandboxPort: String
    private let account: String

    /// `nil` unless the environment says where a driver listens.
    init?(_ server: TestServer, account: String) throws {
        guard WebDriverSession.isAvailable else { return nil }
        sandboxPort = try server.environment.value("SANDBOX_TLS_PORT")
        self.account = account
    }

    func visit(_ url: String, decisions: [ConsentDecision]) throws -> String {
        let session = try WebDriverSession([
            "--host-resolver-rules=MAP * 127.0.0.1:\(sandboxPort), EXCLUDE localhost, EXCLUDE 127.0.0.1"
        ])
        defer { session.end() }
        try session.open(url)
        for decision in decisions {
            let page = try session.url()
            try session.click("option[value=\"\(account)\"]")
            try session.click("button[value=\(decision.rawValue)]")
            // The next page has the same elements; this one's would be found until it is gone.
            try session.leave(page)
        }
        // What the program shows last, and nothing else, has no form.
        _ = try session.find("body > p:only-of-type")
        return try session.source()
    }
}
