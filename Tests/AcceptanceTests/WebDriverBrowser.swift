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
    /// How elements are called in replies (WebDriver, section 12.1).
    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"

    private let driver: HTTPAddress
    private let sandboxPort: String
    private let account: String

    /// `nil` unless `CONSENT_WEBDRIVER` in the environment says where a driver listens.
    init?(_ server: TestServer, account: String) throws {
        guard let url = ProcessInfo.processInfo.environment["CONSENT_WEBDRIVER"] else { return nil }
        driver = try HTTPAddress(url)
        sandboxPort = try server.environment.value("SANDBOX_TLS_PORT")
        self.account = account
    }

    func visit(_ url: String, decisions: [ConsentDecision]) throws -> String {
        let session = try startSession()
        defer { _ = try? call("DELETE", "/session/\(session)") }
        try post("/session/\(session)/timeouts", ["implicit": 20_000])
        try post("/session/\(session)/url", ["url": url])
        for decision in decisions {
            try click("option[value=\"\(account)\"]", session)
            try click("button[value=\(decision.rawValue)]", session)
        }
        // What the program shows last, and nothing else, has no form.
        _ = try find("body > p:only-of-type", session)
        return try #require(try call("GET", "/session/\(session)/source").value?.text)
    }

    private func startSession() throws -> String {
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * 127.0.0.1:\(sandboxPort), EXCLUDE localhost, EXCLUDE 127.0.0.1",
        ]
        // The certificates are of the stack's own authority, which the browser does not know.
        let reply = try post(
            "/session",
            [
                "capabilities": [
                    "alwaysMatch": ["acceptInsecureCerts": true, "goog:chromeOptions": ["args": arguments]]
                ]
            ])
        return try #require(reply.value?.sessionId?.text)
    }

    private func click(_ selector: String, _ session: String) throws {
        try post("/session/\(session)/element/\(try find(selector, session))/click", [:])
    }

    private func find(_ selector: String, _ session: String) throws -> String {
        let reply = try post("/session/\(session)/element", ["using": "css selector", "value": selector])
        return try #require(reply.value?[Self.elementKey]?.text, "\(selector)")
    }

    @discardableResult
    private func post(_ path: String, _ body: [String: Any]) throws -> JSONValue {
        try call("POST", path, Array(try JSONSerialization.data(withJSONObject: body)))
    }

    private func call(_ method: String, _ path: String, _ body: [UInt8]? = nil) throws -> JSONValue {
        let reply = try driver.perform(
            HTTPCall(method, path, headers: [("Content-Type", "application/json")], body: body))
        guard reply.status == 200, let json = reply.json else { throw UnexpectedReply("WebDriver \(path)", reply) }
        return json
    }
}
