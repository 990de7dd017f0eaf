import Curl
import Foundation
import HTTPTransport
import TestSupport
import Testing

/// The sandbox that the contract tests share.
///
/// Always its own stack, even if the environment names one, because the faults of these tests affect every client.
enum ContractSandbox {
    private static let result = Result { () throws -> TestServer in
        CurlLibrary.initialize()
        return try TestServer(PrivateStack("contract", responders: 1))
    }

    static func server() throws -> TestServer { try result.get() }

    /// Routes connections to providers to the sandbox.
    static func routing() throws -> Routing {
        let server = try server()
        return Routing(
            connectTo: "127.0.0.1:\(try server.environment.value("SANDBOX_TLS_PORT"))",
            caFile: server.certificateAuthorityFile)
    }
}

/// Begins each test without faults, and expects at its end that all planted faults have occurred and that no rule of a
/// provider was broken.
struct OnCleanSandbox: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard testCase != nil else { return try await function() }
        let sandbox = try ContractSandbox.server().sandbox
        try sandbox.clearFaults()
        try sandbox.clearViolations()
        try await function()
        #expect(try sandbox.unspentFaults() == [])
        #expect(try sandbox.violations() == [])
        try sandbox.clearFaults()
    }
}

extension Trait where Self == OnCleanSandbox {
    static var onCleanSandbox: OnCleanSandbox { OnCleanSandbox() }
}

/// All tests that use the sandbox: one at a time, since its faults affect every client.
@Suite("Cloud providers", .serialized, .onCleanSandbox)
enum CloudProviderTests {}
