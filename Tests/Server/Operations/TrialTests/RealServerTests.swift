import HTTPTransport
import HTTPTypes
import Operations
import TestSupport
import Testing

/// A fault of a third-party server, and the step that must report it.
struct FaultOfRealServer: Sendable, CustomTestStringConvertible {
    let name: String
    let server: StorageServerProcess.Kind
    let step: String
    /// The required text of the step.
    let words: String
    var prepare: @Sendable (inout RealAccount) -> Void = { _ in }
    var deceptions: @Sendable () -> Deceptions = { Deceptions() }
    /// Whether the storage is empty afterwards despite the fault.
    var leavesNothing = true

    var testDescription: String { "\(server.rawValue): \(name)" }
}

extension FaultOfRealServer {
    static let all = common(.s3Rclone) + s3 + common(.rcloneWebDAV) + webDAV

    // MARK: Any server

    private static func common(_ server: StorageServerProcess.Kind) -> [FaultOfRealServer] {
        [
            FaultOfRealServer(
                name: "a wrong secret", server: server, step: "identity",
                words: server == .s3Rclone ? "does not belong to the access key" : "the token is rejected",
                prepare: { $0.password = "another-secret-of-the-tests" }),
            FaultOfRealServer(
                name: "a web page instead of data", server: server, step: "identity", words: "a web page",
                deceptions: {
                    Deceptions { request in
                        request.call.operation == .identity
                            ? .saying(Reply(200, "<html></html>", headers: [.contentType: "text/html"])) : .none
                    }
                }),
            FaultOfRealServer(
                name: "a full storage", server: server, step: "smallUpload", words: "quota exceeded",
                deceptions: { Deceptions { $0.sendsBytes ? .saying(Reply(507)) : .none } }),
            FaultOfRealServer(
                name: "bytes that change in transit", server: server, step: "smallUpload",
                words: "computed: 3000 bytes",
                deceptions: { Deceptions { $0.sendsBytes ? .asking($0.changed) : .none } }),
            FaultOfRealServer(
                name: "other bytes", server: server, step: "download", words: "the contents differ",
                deceptions: { Deceptions { $0.isDownload(of: "small.bin") ? .saying(.zeros) : .none } }),
            FaultOfRealServer(
                name: "the whole file instead of a range", server: server, step: "range",
                words: "the whole file is returned",
                deceptions: {
                    Deceptions { request in
                        request.call.operation == .download && request.headers[.range] != nil
                            ? .asking(request.without(.range)) : .none
                    }
                }),
            FaultOfRealServer(
                name: "a download that cannot be resumed", server: server, step: "resumedDownload",
                words: "connection lost", deceptions: { Deceptions { $0.resumesDownload ? .silence : .none } }),
            FaultOfRealServer(
                name: "a deletion that does not delete", server: server, step: "deletion", words: "still exists",
                deceptions: { Deceptions { $0.deletesObject ? .saying(Reply(204)) : .none } }, leavesNothing: false),
            FaultOfRealServer(
                name: "a second deletion that is rejected", server: server, step: "repeatedDeletion", words: "403",
                deceptions: {
                    let deletions = Memory(0)
                    return Deceptions { request in
                        guard request.deletesObject else { return .none }
                        deletions.value += 1
                        return deletions.value == 2 ? .saying(Reply(403)) : .none
                    }
                }),
        ]
    }

    // MARK: S3

    private static let s3 = [
        FaultOfRealServer(
            name: "a missing bucket", server: .s3Rclone, step: "identity", words: "does not exist",
            prepare: { $0.bucket = "elsewhere" }),
        FaultOfRealServer(
            name: "an invalid bucket name", server: .s3Rclone, step: "identity",
            words: "must have a bucket",
            prepare: { $0.bucket = "b" }),
        // moto accepts any key.
        FaultOfRealServer(name: "any key is accepted", server: .s3Moto, step: "forgery", words: "is accepted"),
        FaultOfRealServer(
            name: "a key that may only read", server: .s3Rclone, step: "storage", words: "needs s3:PutObject",
            deceptions: {
                Deceptions { request in
                    request.method == .put && request.call.operation == .metadata
                        ? .saying(Reply(403, "<Error><Code>AccessDenied</Code></Error>")) : .none
                }
            }),
        FaultOfRealServer(
            name: "a wrong hash", server: .s3Rclone, step: "smallUpload", words: "computed: 3000 bytes with the hash",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .upload
                        ? .turning { $0.replacing(.eTag, by: "\"\(String(repeating: "0", count: 32))\"") } : .none
                }
            }),
        FaultOfRealServer(
            name: "a different size", server: .s3Rclone, step: "description", words: "reported: 3001 bytes",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .metadata && request.headers[.range] != nil
                        ? .turning { $0.replacing(.contentRange, by: "bytes 0-0/3001") } : .none
                }
            }),
        FaultOfRealServer(
            name: "an upload that is lost when its connection breaks", server: .s3Rclone, step: "largeUpload",
            words: "lost the upload",
            deceptions: {
                Deceptions { request in
                    request.url.contains("partNumber=2")
                        ? .saying(Reply(404, "<Error><Code>NoSuchUpload</Code></Error>")) : .none
                }
            }),
        FaultOfRealServer(
            name: "parts that form another object", server: .s3Rclone, step: "largeUpload", words: "computed: 11720327",
            deceptions: {
                Deceptions { request in
                    request.call.operation == .metadata && request.url.contains("large.bin")
                        ? .turning { $0.replacing(.contentRange, by: "bytes 0-0/5242880") } : .none
                }
            }),
        FaultOfRealServer(
            name: "a listing that is empty", server: .s3Rclone, step: "listing", words: "missing from the listing",
            deceptions: {
                let asked = Memory(0)
                return Deceptions { request in
                    guard request.url.contains("delimiter=") else { return .none }
                    asked.value += 1
                    // From before the first object until the step has given up; the clean-up sees the real listing.
                    return asked.value <= 7 ? .saying(Reply(200, "<ListBucketResult></ListBucketResult>")) : .none
                }
            }),
    ]

    // MARK: WebDAV

    private static let webDAV = [
        FaultOfRealServer(
            name: "any password is accepted", server: .rcloneWebDAV, step: "forgery", words: "is accepted",
            deceptions: Deceptions.acceptingAnybody),
        FaultOfRealServer(
            name: "a different size", server: .rcloneWebDAV, step: "description", words: "reported: 3001 bytes",
            deceptions: {
                let looks = Memory(0)
                return Deceptions { request in
                    guard request.method.rawValue == "PROPFIND", request.url.hasSuffix("small.bin") else {
                        return .none
                    }
                    looks.value += 1
                    // The first request belongs to the upload itself.
                    return looks.value < 2 ? .none : .turning { $0.replacing(">3000<", with: ">3001<") }
                }
            }),
        FaultOfRealServer(
            name: "a renaming that renames nothing", server: .rcloneWebDAV, step: "rename",
            words: "the old name still exists",
            deceptions: {
                Deceptions { request in
                    request.headers.contains { $0.value.hasSuffix("-renamed.bin") } ? .saying(Reply(201)) : .none
                }
            }),
        FaultOfRealServer(
            name: "a listing that is empty", server: .rcloneWebDAV, step: "listing", words: "missing from the listing",
            deceptions: {
                let asked = Memory(0)
                return Deceptions { request in
                    guard request.headers[.depth] == "1" else { return .none }
                    asked.value += 1
                    return asked.value <= 7 ? .saying(Reply(207, #"<d:multistatus xmlns:d="DAV:"/>"#)) : .none
                }
            }),
    ]
}

extension HTTPField.Name {
    fileprivate static let depth = HTTPField.Name("Depth")!
}

extension OutgoingRequest {
    /// The same number of different bytes.
    fileprivate var changed: OutgoingRequest {
        var request = self
        if let body { request.body = .bytes(Array(repeating: 7, count: body.count)[...]) }
        return request
    }

    fileprivate var sendsBytes: Bool { method == .put && call.operation == .upload && isOfTheTrial }

    /// Excludes the file with which a sign-in tests that the storage keeps files.
    private var isOfTheTrial: Bool { url.contains("syncserver-try-") }

    /// Excludes ranges, and reads with which an upload verifies itself.
    fileprivate func isDownload(of name: String) -> Bool {
        call.operation == .download && headers[.range] == nil && url.hasSuffix("-\(name)")
    }

    /// Whether the request reads everything from an offset on.
    fileprivate var resumesDownload: Bool { call.operation == .download && headers[.range]?.hasSuffix("-") == true }

    /// Excludes the end of an upload.
    fileprivate var deletesObject: Bool {
        method == .delete && call.operation == .delete && !url.contains("uploadId=") && isOfTheTrial
    }
}

extension Reply {
    /// As many zero bytes as the small file has.
    fileprivate static var zeros: Reply {
        Reply(head: ReplyHead(status: 200, headers: [:]), body: Array(repeating: 0, count: 3_000))
    }

    /// The same reply with another value for one of its headers.
    fileprivate func replacing(_ name: HTTPField.Name, by value: String) -> Reply {
        var reply = self
        if reply.head.headers[name] != nil { reply.head.headers[name] = value }
        return reply
    }
}

extension TrialTests {
    /// Third-party servers.
    @Suite("Real servers")
    struct RealServerTests {
        @Test("An S3 service is tried with an access key, and nothing is left there")
        func s3() throws {
            let account = try RealAccount(.s3Rclone)
            let report = try account.run()

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["largeUpload"]?.came.contains("second part's connection broke") == true, "\(report.text)")
            #expect(report["range"]?.result == .passed)
            #expect(report["rename"]?.result == .notOffered)
            #expect(try account.files() == [])
        }

        @Test("On a plain WebDAV server large content takes one request, and a renamed file is found by its name")
        func plainWebDAV() throws {
            let account = try RealAccount(.rcloneWebDAV)
            let report = try account.run()

            #expect(report.outcome == .passed, "\(report.text)")
            #expect(report["largeUpload"]?.came.contains("one request") == true)
            #expect(report["rename"]?.came.contains("only by its new name") == true)
            #expect(try account.files() == [])
        }

        @Test("A planted fault is reported by its step, and nothing is left", arguments: FaultOfRealServer.all)
        func named(fault: FaultOfRealServer) throws {
            var account = try RealAccount(fault.server)
            fault.prepare(&account)

            let report = try account.run(fault.deceptions())

            try report.expectFault(
                in: fault.step, words: fault.words, files: fault.leavesNothing ? account.files() : nil)
        }

        @Test("A wrong access key is reported without the key")
        func wrongKey() throws {
            var account = try RealAccount(.s3Rclone)
            account.password = "another-secret-of-the-tests"

            let report = try account.run()

            #expect(report["identity"]?.calls.last?.code == "SignatureDoesNotMatch")
            #expect(!(try report.text + report.json()).contains("AKTEST"))
            #expect(!report.text.contains("another-secret"))
        }
    }
}
