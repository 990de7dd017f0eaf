import Foundation
import TestSupport
import Testing

/// A browser that shows consent pages to the person of a test.
protocol ConsentBrowser: Sendable {
    /// Opens `url` and decides on each consent page until the last page.
    /// - Returns: the text of the last page.
    func visit(_ url: String, decisions: [ConsentDecision]) throws -> String
}

/// The person's decision on a provider's page.
enum ConsentDecision: String, Sendable {
    case allow, deny
}

/// A real browser, driven by the W3C's WebDriver protocol; `scripts/check-consent` starts one.
struct WebDriverBrowser: ConsentBrowser {
    private let sandboxPort: String
    private let account: String

    /// `nil` unless the environment contains the address of a driver.
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
            // The next page has the same elements, so wait until this one is gone.
            try session.leave(page)
        }
        // Only the program's last page has no form.
        _ = try session.find("body > p:only-of-type")
        return try session.source()
    }
}
