import HTTPTransport
import HTTPTypes
import Logging
import Providers
import TestSupport
import Testing

/// The log entries of a call to a provider.
@Suite("Calls to providers in the log")
struct ProviderCallLogTests {
    private let log = LogKeeper()

    /// The only line about a call to this address.
    private func line(
        _ url: String, _ script: @escaping ScriptedTransport.Script
    ) throws -> [String: String] {
        let logger = Logger(label: "test", factory: { [log] _ in log })
        let transport = ScriptedTransport(script).transport.decorated(by: CallLog(logger))
        _ = try? transport.send(OutgoingRequest(.microsoft, .download, .get, url), by: .after(.seconds(20)))
        let lines = log.lines("Provider call")
        try #require(lines.count == 1)
        return lines[0]
    }

    @Test("The host is logged; path and query, which may contain a capability, are not", arguments: [200, 503])
    func host(status: Int) throws {
        let line = try line("https://public.dm.files.example.com/y4mSecret/photo.jpg?tempauth=s3cret") {
            _ throws(TransportError) in Reply(status)
        }

        #expect(line["provider_host"] == "public.dm.files.example.com")
        #expect(line["status"] == "\(status)")
        #expect(!log.text.contains("y4mSecret") && !log.text.contains("s3cret"))
    }

    @Test(
        "A rejection is logged with the provider's own code, but without its text for people",
        arguments: [
            (
                #"{"error":"invalid_grant","error_description":"AADSTS700082: s3cret","error_codes":[700082]}"#,
                "invalid_grant AADSTS700082"
            ),
            (#"{"error":{"code":"itemNotFound","message":"s3cret"}}"#, "itemNotFound"),
            (#"{"error":{"message":"s3cret","type":"OAuthException","code":190}}"#, "190"),
            (#"{"error":{"code":404,"message":"s3cret","errors":[]}}"#, "404"),
            (#"{"error":"a s3cret of\nmany words"}"#, nil), (#"{"error":["s3cret"]}"#, nil), ("<html>s3cret", nil),
            (#"{"error":""}"#, nil), (#"{"error":{"code":1e400}}"#, nil),
        ])
    func code(body: String, expected: String?) throws {
        let line = try line("https://login.example.com/token") { _ throws(TransportError) in Reply(400, body) }

        #expect(line["provider_code"] == expected)
        #expect(!log.text.contains("s3cret"))
    }

    @Test("A success has no error code, regardless of its body")
    func success() throws {
        let body = #"{"error":"none","access_token":"s3cret"}"#
        let line = try line("https://login.example.com/token") { _ throws(TransportError) in Reply(200, body) }

        #expect(line["provider_code"] == nil && !log.text.contains("s3cret"))
    }

    @Test("A call without a reply is logged with its reason, and only with the host")
    func noReply() throws {
        let line = try line("https://www.example.com/secret") { _ throws(TransportError) in throw .timedOut }

        #expect(line["provider_host"] == "www.example.com")
        #expect(line["reason"] == "timed out")
        #expect(!log.text.contains("secret"))
    }

    @Test("A withheld call causes a warning, unless it was early and can follow")
    func withheld() throws {
        let logger = Logger(label: "test", factory: { [log] _ in log })
        let script = ScriptedTransport { _ throws(TransportError) in throw .withheld(.busy) }
        let transport = script.transport.decorated(by: CallLog(logger))
        var request = OutgoingRequest(.google, .identity, .get, "https://www.googleapis.com/oauth2/v3/userinfo")

        request.isEarly = true
        _ = try? transport.send(request, by: .after(.seconds(20)))
        #expect(log.lines("Provider call").isEmpty)
        request.isEarly = false
        _ = try? transport.send(request, by: .after(.seconds(20)))
        #expect(log.lines("Provider call").count == 1)
    }
}
