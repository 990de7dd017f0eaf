import HTTPTransport
import Providers
import SyncProtocol
import Synchronization
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: the trial of a storage named by a user")
    struct StorageTrialTests {
        private static let kinds = ProviderUnderTest.all.filter { $0.account.accountType == .webDAV }

        /// Tries a storage as a sign-up does.
        private func tryOut(_ account: ContractAccount) -> AccountError? {
            do {
                let transport = CurlSenderPool(routing: try ContractSandbox.routing()).transport
                // A thread that answers requests does not wait.
                let client = AccountClient(
                    transport: transport, deadline: .after(.seconds(30)), backoff: Backoff(attempts: 1) { _ in })
                try account.kind.account.requireStorage(
                    with: account.credentials.withLock { $0 }, through: client)
                return nil
            } catch let error as AccountError {
                return error
            } catch {
                Issue.record(error)
                return nil
            }
        }

        @Test(
            "A file can be stored, and nothing is left of the trial, or of an earlier one that was interrupted",
            arguments: kinds)
        func usable(kind: ProviderUnderTest) throws {
            let account = try ContractAccount(kind)
            for _ in 0..<2 {
                #expect(tryOut(account) == nil)
                #expect(try account.files().isEmpty)
            }
            // Its folder is kept.
            var fault = kind.fault(status: 503)
            (fault.method, fault.skip) = ("DELETE", 0)
            try account.sandbox.inject(fault)
            _ = tryOut(account)
            try account.sandbox.clearFaults()

            #expect(tryOut(account) == nil)
            #expect(try account.files().isEmpty)
        }

        @Test(
            "If one step is refused, the error names it, and nothing is left",
            arguments: [
                ("MKCOL", 403, StorageObstacle.readOnly), ("MKCOL", 405, .readOnly), ("MKCOL", 401, .readOnly),
                ("MKCOL", 409, .notWritable(status: 409)), ("PUT", 403, .readOnly), ("PUT", 413, .bodyLimit),
                ("PUT", 507, .full), ("MOVE", 403, .readOnly),
            ])
        func refused(method: String, status: Int, obstacle: StorageObstacle) throws {
            let account = try ContractAccount(.apache)
            var fault = account.kind.fault(status: status)
            fault.method = method
            try account.sandbox.inject(fault)

            #expect(tryOut(account) == .storageUnusable(obstacle))

            try account.sandbox.clearFaults()
            #expect(try account.files().isEmpty)
        }

        @Test("A server that is temporarily unavailable is tried again later", arguments: [429, 500, 503])
        func unavailable(status: Int) throws {
            let account = try ContractAccount(.apache)
            try account.sandbox.inject(account.kind.fault(status: status))

            guard case .notAsked = tryOut(account) else {
                Issue.record("the error does not allow another try")
                return
            }
            try account.sandbox.clearFaults()
        }
    }
}
