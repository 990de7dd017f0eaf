import Foundation
import HTTPTransport
import HTTPTypes
import OpenSSLCrypto
import TestSupport
import Testing

@testable import Providers

@Suite("Firebase Cloud Messaging")
struct FCMTests {
    private let key: PrivateKey
    private static let notification = PushNotification(
        origin: "1", event: "1", text: "Hi", expiresAt: 1_800_003_600)
    private static let tokenReply = Reply(200, #"{"access_token":"ya29.c.one","expires_in":3599}"#)

    init() throws { key = try PrivateKey(generating: .rs256) }

    private func service(now: @escaping @Sendable () -> Int64 = { 1_800_000_000 }) throws -> FCM {
        let json: [String: String] = [
            "project_id": "my-project", "client_email": "me@my-project.iam.gserviceaccount.com", "private_key_id": "k",
            "private_key": try key.pem,
        ]
        let text = String(decoding: try JSONEncoder().encode(json), as: UTF8.self)
        return FCM(account: try ServiceAccount(json: text), now: now)
    }

    private func deliver(by service: FCM, _ script: ScriptedTransport, text: String = "Hi", of event: String = "1")
        throws(PushError)
    {
        var notification = Self.notification
        notification.text = text
        notification.event = event
        _ = try service.deliver(
            notification, to: PushAddress(token: "device"),
            through: PushClient(transport: script.transport, deadline: .after(.seconds(10))))
    }

    @Test("An access token is requested with a signed assertion, once for many messages")
    func accessToken() throws {
        let service = try service()
        let script = ScriptedTransport(replies: [Self.tokenReply, Reply(200, "{}"), Reply(200, "{}")])
        try deliver(by: service, script)
        try deliver(by: service, script)

        #expect(script.requests.count == 3)
        let form = script.requests[0].bodyText
        #expect(script.requests[0].url == "https://oauth2.googleapis.com/token")
        let prefix = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        try #require(form.hasPrefix(prefix))
        let parts = form.dropFirst(prefix.count).split(separator: ".")
        try #require(parts.count == 3)
        let signature = try #require([UInt8](base64URL: parts[2]))
        #expect(try key.publicKey.verifies(signature, over: Array("\(parts[0]).\(parts[1])".utf8)))
        let claims = String(decoding: [UInt8](base64URL: parts[1]) ?? [], as: UTF8.self)
        #expect(
            claims
                == #"{"aud":"https://oauth2.googleapis.com/token","exp":1800003540,"iat":1799999940,"#
                + #""iss":"me@my-project.iam.gserviceaccount.com","#
                + #""scope":"https://www.googleapis.com/auth/firebase.messaging"}"#)
        #expect(script.requests[1].url == "https://fcm.googleapis.com/v1/projects/my-project/messages:send")
        #expect(script.requests[1].headers[.authorization] == "Bearer ya29.c.one")
    }

    @Test("A message has text, lifetime, and a tag with which a repetition replaces it, and never exceeds 4,096 bytes")
    func message() throws {
        let service = try service()
        let script = ScriptedTransport(replies: [Self.tokenReply, Reply(200), Reply(200)])
        try deliver(by: service, script)
        let json = try #require(JSONValue(Array(script.requests[1].bodyText.utf8)))
        #expect(json.message?.token?.text == "device")
        #expect(json.message?.notification?.body?.text == "Hi")
        #expect(json.message?.android?.ttl?.text == "3600s")
        #expect(json.message?.android?.notification?.tag?.text == Self.notification.id)
        #expect(json.message?.apns?.headers?["apns-collapse-id"]?.text == Self.notification.id)

        try deliver(by: service, script, text: String(repeating: "\u{1}é", count: 2_000))
        #expect(script.requests[2].bodyText.utf8.count <= 4_096)
        #expect(script.requests[2].bodyText.contains("…"))
    }

    @Test("A rejected access token is replaced once")
    func refusedToken() throws {
        let script = ScriptedTransport(replies: [
            Self.tokenReply, Reply(401, #"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#),
            Reply(200, #"{"access_token":"ya29.c.two","expires_in":3599}"#), Reply(200),
        ])
        try deliver(by: try service(), script)
        #expect(script.requests.last?.headers[.authorization] == "Bearer ya29.c.two")
    }

    private static func fcm(_ code: String) -> String {
        #"{"error":{"code":1,"status":"X","details":[{"@type":"t"},{"errorCode":"\#(code)"}]}}"#
    }

    @Test(
        "Each answer has the meaning that Google documents",
        arguments: [
            (404, fcm("UNREGISTERED"), PushError.gone(since: nil)),
            (403, fcm("SENDER_ID_MISMATCH"), .misconfigured(detail: "status 403 SENDER_ID_MISMATCH")),
            (400, fcm("INVALID_ARGUMENT"), .doubtful(detail: "status 400 INVALID_ARGUMENT")),
            (400, #"{"error":{"status":"INVALID_ARGUMENT"}}"#, .rejected(detail: "status 400 INVALID_ARGUMENT")),
            (404, #"{"error":{"status":"NOT_FOUND"}}"#, .misconfigured(detail: "status 404 NOT_FOUND")),
            (401, fcm("THIRD_PARTY_AUTH_ERROR"), .misconfigured(detail: "status 401 THIRD_PARTY_AUTH_ERROR")),
            (429, fcm("QUOTA_EXCEEDED"), .rateLimited(retryAfter: .seconds(60))),
            (503, fcm("UNAVAILABLE"), .unavailable(detail: "status 503 UNAVAILABLE")),
            (500, "", .unavailable(detail: "status 500 no reason")),
        ])
    func answers(status: Int, body: String, error: PushError) throws {
        let service = try service()
        let script = ScriptedTransport(replies: [Self.tokenReply, Reply(status, body)])
        #expect(throws: error) { try deliver(by: service, script) }
    }

    @Test("An invalid argument blames the device's token only if another device has accepted the same message")
    func doubt() throws {
        let bad = Reply(400, Self.fcm("INVALID_ARGUMENT"))
        let service = try service()
        let script = ScriptedTransport(replies: [Self.tokenReply, bad, Reply(200, "{}"), bad, bad])
        let doubtful = PushError.doubtful(detail: "status 400 INVALID_ARGUMENT")
        #expect(throws: doubtful) { try deliver(by: service, script) }
        try deliver(by: service, script)
        #expect(throws: PushError.gone(since: nil)) { try deliver(by: service, script) }
        #expect(throws: doubtful) { try deliver(by: service, script, of: "2") }
    }

    @Test("The delay that Google requests is returned")
    func retryAfter() throws {
        for status in [429, 503] {
            let service = try service()
            let script = ScriptedTransport(replies: [
                Self.tokenReply, Reply(status, "", headers: [.retryAfter: "7"]),
            ])
            #expect(throws: PushError.rateLimited(retryAfter: .seconds(7))) { try deliver(by: service, script) }
        }
    }

    @Test("A file that is not a service account is rejected with a reason", arguments: ["", "{}", "[]"])
    func unusable(json: String) {
        #expect(throws: ServiceAccount.Unusable.notAServiceAccount) { try ServiceAccount(json: json) }
        #expect(throws: ServiceAccount.Unusable.badKey) {
            try ServiceAccount(json: #"{"project_id":"p","client_email":"e","private_key":"k"}"#)
        }
    }
}
