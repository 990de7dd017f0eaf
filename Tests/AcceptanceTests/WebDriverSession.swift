import Foundation
import TestSupport
import Testing

/// A window of a real browser, driven by the W3C's WebDriver protocol; `scripts/check-consent` starts the driver.
struct WebDriverSession {
    /// The key of elements in replies (WebDriver, section 12.1).
    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"
    private static let variable = "WEBDRIVER_URL"

    private let driver: HTTPAddress
    private let session: String

    /// Whether the environment contains the address of a driver.
    static var isAvailable: Bool { ProcessInfo.processInfo.environment[variable] != nil }

    /// - Parameter arguments: arguments for the browser's command line.
    init(_ arguments: [String] = []) throws {
        driver = try HTTPAddress(try #require(ProcessInfo.processInfo.environment[Self.variable]))
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] + arguments
        // The browser does not know the stack's own certificate authority.
        let reply = try Self.post(
            driver, "/session",
            [
                "capabilities": [
                    "alwaysMatch": ["acceptInsecureCerts": true, "goog:chromeOptions": ["args": arguments]]
                ]
            ])
        session = try #require(reply.value?.sessionId?.text)
        try post("/timeouts", ["implicit": 20_000])
    }

    /// Closes the window.
    func end() { _ = try? Self.call(driver, "DELETE", "/session/\(session)") }

    func open(_ url: String) throws { try post("/url", ["url": url]) }

    /// The address of the page.
    func url() throws -> String { try #require(try Self.call(driver, "GET", "/session/\(session)/url").value?.text) }

    /// Waits until another page has replaced the one with that address.
    func leave(_ page: String) throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try url() == page { try #require(ContinuousClock.now < deadline, "\(page) stays") }
    }

    /// The markup of the page.
    func source() throws -> String {
        try #require(try Self.call(driver, "GET", "/session/\(session)/source").value?.text)
    }

    func click(_ selector: String) throws { try post("/element/\(try find(selector))/click", [:]) }

    /// Waits for the first element that the selector matches.
    func find(_ selector: String) throws -> String {
        let reply = try post("/element", ["using": "css selector", "value": selector])
        return try #require(reply.value?[Self.elementKey]?.text, "\(selector)")
    }

    /// The result of a function body that the driver runs in the page.
    func evaluate(_ body: String) throws -> JSONValue? {
        try post("/execute/sync", ["script": body, "args": [String]()]).value
    }

    /// The visible text of the frame that the selector matches.
    func text(inFrame selector: String) throws -> String {
        let element = try find(selector)
        try post("/frame", ["id": [Self.elementKey: element]])
        defer { _ = try? post("/frame", ["id": NSNull()]) }
        let body = try find("body")
        return try #require(try Self.call(driver, "GET", "/session/\(session)/element/\(body)/text").value?.text)
    }

    /// A PNG screenshot of the window.
    func screenshot() throws -> Data {
        let text = try #require(try Self.call(driver, "GET", "/session/\(session)/screenshot").value?.text)
        return try #require(Data(base64Encoded: text))
    }

    @discardableResult
    private func post(_ path: String, _ body: [String: Any]) throws -> JSONValue {
        try Self.post(driver, "/session/\(session)\(path)", body)
    }

    private static func post(_ driver: HTTPAddress, _ path: String, _ body: [String: Any]) throws -> JSONValue {
        try call(driver, "POST", path, Array(try JSONSerialization.data(withJSONObject: body)))
    }

    private static func call(
        _ driver: HTTPAddress, _ method: String, _ path: String, _ body: [UInt8]? = nil
    ) throws -> JSONValue {
        let reply = try driver.perform(
            HTTPCall(method, path, headers: [("Content-Type", "application/json")], body: body))
        guard reply.status == 200, let json = reply.json else { throw UnexpectedReply("WebDriver \(path)", reply) }
        return json
    }
}
