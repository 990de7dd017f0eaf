import Foundation

/// Waits until `condition` holds, checking it every 50 ms.
///
/// For effects that the server guarantees after its reply. The thread is free between two checks.
/// - Throws: ``NotEventually`` after `limit`, or the error of the last check.
public func eventually(
    _ expectation: String, within limit: Duration = .seconds(30), _ condition: () throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while true {
        var lastError: (any Error)?
        do {
            if try condition() { return }
        } catch {
            lastError = error
        }
        guard ContinuousClock.now < deadline else { throw lastError ?? NotEventually(expectation: expectation) }
        try await Task.sleep(for: .milliseconds(50))
    }
}

/// A condition that was not fulfilled in time.
public struct NotEventually: Error, CustomStringConvertible {
    /// The expected condition.
    public let expectation: String

    /// Creates the error for an expected condition.
    public init(expectation: String) { self.expectation = expectation }

    /// A sentence for a test's report.
    public var description: String { "did not happen in time: \(expectation)" }
}
