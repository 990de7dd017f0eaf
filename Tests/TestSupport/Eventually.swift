import Foundation

/// Waits until `condition` holds, asking again every 50 ms.
///
/// For what the server promises to happen after its reply. Frees the thread between two questions.
/// - Throws: ``NotEventually`` after `limit`, or what the last question threw.
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

/// A condition that did not come true in time.
public struct NotEventually: Error, CustomStringConvertible {
    /// What was waited for.
    public let expectation: String

    /// Notes what was waited for.
    public init(expectation: String) { self.expectation = expectation }

    /// A sentence for a test's report.
    public var description: String { "did not happen in time: \(expectation)" }
}
