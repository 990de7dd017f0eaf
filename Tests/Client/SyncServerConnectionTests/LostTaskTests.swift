#if canImport(FoundationNetworking)
    import Foundation
    import FoundationNetworking
    import HTTPTypes
    import SyncServerConnection
    import Testing

    @Suite("Tasks that URLSession loses")
    struct LostTaskTests {
        /// Accepts every request, and never reports anything about it, not even a timeout.
        private final class SilentProtocol: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
            override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
            override func startLoading() {}
            override func stopLoading() {}
        }

        @Test("A request ends even if its end is never reported, and the next requests are sent")
        func silence() async throws {
            let configuration = URLSessionExecutor.configuration()
            configuration.protocolClasses = [SilentProtocol.self]
            let executor = URLSessionExecutor(requests: configuration)
            let exchange = HTTPExchange(
                request: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:9", path: "/Index/"),
                idleTimeout: .milliseconds(100))

            // More requests than are admitted at once.
            let kinds = await withTaskGroup(of: TransportFailure.Kind?.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        do throws(TransportFailure) {
                            _ = try await executor.execute(exchange)
                            return nil
                        } catch { return error.kind }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }

            #expect(kinds == Array(repeating: .timedOut, count: 20))
        }
    }
#endif
