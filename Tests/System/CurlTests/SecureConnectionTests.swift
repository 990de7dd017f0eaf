import Curl
import Foundation
import Posix
import TestSupport
import Testing

/// Against `openssl s_server` with a self-signed certificate for `sandbox.example`.
@Suite("Secure connections")
struct SecureConnectionTests {
    @Test("Only a trusted certificate for the URL's host is accepted")
    func verification() throws {
        let server = try SecureServer()
        let routing = Routing(connectTo: "127.0.0.1:\(server.port)", caFile: server.certificateFile)

        for version in [Request.HTTPVersion.http11, .http2] {
            var trusting = try EasyHandle(routing: routing)
            var request = Request(url: "https://sandbox.example/")
            request.httpVersion = version
            #expect(try trusting.perform(request).status == 200)
        }

        var elsewhere = try EasyHandle(routing: routing)
        #expect(isTLSError { try elsewhere.perform(Request(url: "https://other.example/")) })
        var distrusting = try EasyHandle(routing: Routing(connectTo: routing.connectTo))
        #expect(isTLSError { try distrusting.perform(Request(url: "https://sandbox.example/")) })
        var fileless = try EasyHandle(routing: Routing(connectTo: routing.connectTo, caFile: "/nowhere/ca.pem"))
        #expect(isTLSError { try fileless.perform(Request(url: "https://sandbox.example/")) })
    }

    private func isTLSError(_ body: () throws -> Response) -> Bool {
        do {
            _ = try body()
            return false
        } catch {
            guard case CurlError.tls = error else { return false }
            return true
        }
    }
}

/// `openssl s_server -www` on a free port, stopped with its last reference.
private final class SecureServer {
    let port: Int
    let certificateFile: String
    private let folder: ScratchFolder
    private let server: ChildProcess

    init() throws {
        folder = try ScratchFolder("tls")
        certificateFile = folder.path + "/certificate.pem"
        let keyFile = folder.path + "/key.pem"
        let request = try Command(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=sandbox.example", "-addext", "subjectAltName=DNS:sandbox.example", "-keyout",
                keyFile, "-out", certificateFile,
            ])
        try #require(request.status == 0, "\(request.output)")

        let output = Pipe()
        server = try ChildProcess(
            [
                "/usr/bin/openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificateFile, "-key",
                keyFile,
            ],
            output: output.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()
        // The server prints "ACCEPT 127.0.0.1:PORT" once it listens.
        var text = ""
        while !text.hasSuffix("\n") || !text.contains("ACCEPT") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
        }
        let line = try #require(text.split(separator: "\n").last { $0.contains("ACCEPT") })
        port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
    }

    deinit {
        server.send(SIGTERM)
        _ = try? server.wait()
    }
}
