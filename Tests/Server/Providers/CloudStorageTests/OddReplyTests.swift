import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import TestSupport
import Testing

/// Implausible replies: whatever their values, an operation ends with a result or with one of our errors.
@Suite("Implausible replies of storage providers")
struct OddReplyTests {
    private static let google =
        #"{"id": "1AbC", "name": "a.jpg", "size": "5", "md5Checksum": "00", "headRevisionId": "r", "trashed": false}"#
    private static let dropbox =
        #"{".tag": "file", "id": "id:a", "name": "a.jpg", "size": 5, "rev": "r", "content_hash": "00"}"#
    private static let microsoft =
        #"{"id": "A!1", "name": "a.jpg", "size": 5, "cTag": "c", "file": {"hashes": {"quickXorHash": "AA=="}}}"#

    private static let providers: [any CloudProvider] = [GoogleDrive(), Dropbox(), OneDrive()]
    private static let replies = [google, dropbox, microsoft]

    /// The outcome of reading a description; a trap would end the process.
    private static func outcome(_ provider: any CloudProvider, _ body: [UInt8], status: Int = 200) -> Result<
        StoredObject, CloudStorageError
    > {
        let reply = Reply(head: ReplyHead(status: status, headers: [:]), body: body)
        do throws(CloudStorageError) {
            return .success(try provider.describe(objectID: "x", in: ScriptedStorage { _ in reply }.access()))
        } catch {
            return .failure(error)
        }
    }

    @Test(
        "A reply with a negative or huge size, or with an identifier that cannot be stored, is unreadable",
        arguments: 0..<3)
    func values(index: Int) {
        let good = Self.replies[index]
        guard case .success = Self.outcome(Self.providers[index], Array(good.utf8)) else {
            Issue.record("the unchanged reply is not accepted")
            return
        }
        let quote = index == 0 ? "\"" : ""
        let size = "\"size\": \(quote)5\(quote)"
        let oddities: [(String, String)] =
            ["-1", "-9223372036854775808", "9223372036854775808", "1e400", "1e21", "-1e19", "NaN"].map {
                (size, "\"size\": \(quote)\($0)\(quote)")
            }
            + ["1AbC", "id:a", "A!1"].filter { good.contains($0) }.flatMap { id in
                ["", String(repeating: "x", count: 256), "a\\r\\nb", "é"].map { ("\"\(id)\"", "\"\($0)\"") }
            }
        for (old, new) in oddities {
            let body = Array(good.replacingOccurrences(of: old, with: new).utf8)
            guard case .failure(.unavailable) = Self.outcome(Self.providers[index], body) else {
                Issue.record("accepted: \(new)")
                continue
            }
        }
    }

    @Test("Deep nesting fails only the operation", arguments: 0..<3)
    func nesting(index: Int) {
        for depth in [200, 100_000] {
            for (open, close) in [("[", "]"), ("{\"error\":", "}"), ("{\"error\":{\"innerError\":", "}}")] {
                let text = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
                for status in [200, 401, 403, 404, 409, 500] {
                    guard case .failure = Self.outcome(Self.providers[index], Array(text.utf8), status: status) else {
                        Issue.record("accepted at \(depth)")
                        return
                    }
                }
            }
        }
        // Unions within unions, for which a reader could try each level twice.
        let union =
            String(repeating: #"{".tag":"reason","reason":"#, count: 30) + "1" + String(repeating: "}", count: 30)
        let before = ContinuousClock.now
        _ = Self.outcome(Self.providers[index], Array("{\"error\":\(union)}".utf8), status: 409)
        #expect(before.duration(to: .now) < .seconds(2))
    }

    @Test("Thousands of corrupted replies: each yields a storable object, or an error")
    func damaged() {
        let cases = ProcessInfo.processInfo.environment["SYNC_FUZZ_CASES"].flatMap { Int($0) } ?? 20_000
        var damage = Damage(seed: 42)
        for number in 0..<cases {
            let index = number % 3
            let status = [200, 200, 200, 401, 403, 404, 409, 429, 500][number / 3 % 9]
            let body = damage.applied(to: Array(Self.replies[index].utf8))
            if case .success(let object) = Self.outcome(Self.providers[index], body, status: status) {
                #expect(object.sizeBytes >= 0)
                #expect((1...255).contains(object.objectID.utf8.count))
            }
        }
    }
}
