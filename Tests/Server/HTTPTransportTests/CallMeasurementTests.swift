import HTTPTransport
import HTTPTypes
import Synchronization
import TestSupport
import Testing

@Suite("Calls to providers")
struct CallMeasurementTests {
    private let facebook = ExternalService("facebook", hosts: ["graph.facebook.com"])

    @Test("Each status and each failure has its own word")
    func outcomes() {
        let words: [(Int, ProviderCall.Outcome)] = [
            (200, .ok), (308, .ok), (400, .rejected), (401, .denied), (403, .denied), (404, .missing), (409, .conflict),
            (410, .missing), (412, .conflict), (429, .rateLimited), (500, .failed), (503, .failed), (507, .full),
        ]
        for (status, outcome) in words { #expect(ProviderCall.Outcome(status: status) == outcome) }
        #expect(ProviderCall.Outcome(.timedOut) == .timeout)
        #expect(ProviderCall.Outcome(.notSent) == .unreachable)
        #expect(ProviderCall.Outcome(.refused("TLS")) == .aborted)
    }

    @Test("A measured transport reports replies and failures, and changes neither")
    func measured() throws {
        let script = ScriptedTransport(replies: [Reply(503), Reply(200)])
        let record = Record()
        let transport = script.transport.decorated(
            by: CallMeasurement { call, outcome, _ in record.add("\(call.service) \(outcome)") })
        let request = OutgoingRequest(facebook, .identity, .get, "https://graph.facebook.com/me")

        #expect(try transport.send(request, by: .after(.seconds(5))).status == 503)
        #expect(try transport.send(request, by: .after(.seconds(5))).status == 200)
        #expect(throws: TransportError.interrupted) { try transport.send(request, by: .after(.seconds(5))) }

        #expect(record.words == ["facebook failed", "facebook ok", "facebook unreachable"])
    }

    @Test("A withheld call is reported, unless it was early and can follow")
    func withheld() {
        let script = ScriptedTransport { _ throws(TransportError) in throw .withheld(.busy) }
        let record = Record()
        let transport = script.transport.decorated(
            by: CallMeasurement { call, outcome, _ in record.add("\(call.service) \(outcome)") })
        var request = OutgoingRequest(facebook, .identity, .get, "https://graph.facebook.com/me")

        #expect(throws: TransportError.withheld(.busy)) { try transport.send(request, by: .after(.seconds(5))) }
        request.isEarly = true
        #expect(throws: TransportError.withheld(.busy)) { try transport.send(request, by: .after(.seconds(5))) }

        #expect(record.words == ["facebook withheld"])
    }
}

/// The reports of a measured transport as text.
private final class Record: Sendable {
    private let noted = Mutex<[String]>([])
    func add(_ words: String) { noted.withLock { $0.append(words) } }
    var words: [String] { noted.withLock { $0 } }
}
