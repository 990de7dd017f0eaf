import HTTPTransport
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

@testable import SyncService

@Suite("Devices registered with SNS")
struct SNSRegistrationTests {
    private let server: TestServer
    private let amazon: ScriptedTransport
    private let device = String(repeating: "0a", count: 32)

    init() throws {
        let subscriptions = Mutex(0)
        amazon = ScriptedTransport { request throws(TransportError) in
            let action = request.bodyText.split(separator: "&").first { $0.hasPrefix("Action=") }?.dropFirst(7)
            switch action {
            case "CreatePlatformEndpoint": return Reply(200, "<EndpointArn>arn:endpoint</EndpointArn>")
            case "CreateTopic": return Reply(200, "<TopicArn>arn:topic</TopicArn>")
            case "Subscribe":
                let number = subscriptions.withLock { number in
                    number += 1
                    return number
                }
                return Reply(200, "<SubscriptionArn>arn:subscription:\(number)</SubscriptionArn>")
            case "Unsubscribe" where request.bodyText.contains("subscription%3A2"):
                return Reply(404, "<Code>NotFound</Code>")
            default: return Reply(200, "<RequestId>1</RequestId>")
            }
        }
        let sns = SNS(
            accessKeyID: "key", secretKey: "secret", region: "us-west-2", platformApplicationARN: "arn:app",
            now: { 1_800_000_000 })
        server = try TestServer(push: PushServices(sns: sns), providers: amazon)
    }

    private func register(_ phone: Phone) -> FakeConnection {
        server.send(
            "POST", "/RegisterPushNotificationToken/", query: "pushNotificationToken=\(device)", headers: phone.headers)
    }

    /// The subscriptions that were ended, in order.
    private var ended: [String] {
        amazon.requests.map(\.bodyText).filter { $0.contains("Action=Unsubscribe") }.compactMap { body in
            body.split(separator: "&").first { $0.hasPrefix("SubscriptionArn=") }.map { String($0.suffix(1)) }
        }
    }

    @Test("When another user takes over a device, it is unsubscribed from the first user's topic")
    func takenOver() throws {
        let alice = try server.signUp()
        var bob = try server.signUp("bob")
        bob.device = alice.device

        #expect(register(alice).status == 200)
        #expect(ended == [])
        #expect(register(bob).status == 200)
        #expect(ended == ["1"])
        // The same applies to a subscription that SNS no longer knows.
        #expect(register(alice).status == 200)
        #expect(ended == ["1", "2"])
        #expect(try server.count("SELECT COUNT(*) FROM push_registrations") == 1)
    }
}
