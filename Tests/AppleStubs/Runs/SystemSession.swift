import AuthenticationServices
import Foundation
import Synchronization
import UIKit

/// Runs WebSession against a session that this program controls.
@main
struct Run {
    static let page = URL(string: "https://accounts.example.com/auth")!

    @MainActor
    static func session(_ redirect: String, isEphemeral: Bool = false) async -> Result<URL, any Error> {
        let session = WebSession(anchor: { UIWindow() })
        do {
            return .success(try await session.run(page, until: URL(string: redirect)!, isEphemeral: isEphemeral))
        } catch {
            return .failure(error)
        }
    }

    static func expect(_ condition: Bool, _ line: Int = #line) {
        if !condition { fatalError("line \(line)") }
    }

    static func main() async {
        let answer = URL(string: "com.example.app:/oauth?code=x")!
        ASWebAuthenticationSession.outcome.withLock { $0 = .success(answer) }
        expect((try? await session("com.example.app:/oauth").get()) == answer)
        expect((try? await session("https://app.example.com/oauth", isEphemeral: true).get()) == answer)
        let started = ASWebAuthenticationSession.started.withLock { $0 }
        expect(started == ["com.example.app: false", "https://app.example.com/oauth true"])

        ASWebAuthenticationSession.outcome.withLock { $0 = .failure(ASWebAuthenticationSessionError(.canceledLogin)) }
        if case .failure(let error as ASWebAuthenticationSessionError) = await session("a.b:/c") {
            expect(error.code == .canceledLogin)
        } else {
            fatalError("not cancelled")
        }

        ASWebAuthenticationSession.outcome.withLock { $0 = nil }
        let task = Task { await session("a.b:/c") }
        while ASWebAuthenticationSession.started.withLock({ $0.count }) < 4 { await Task.yield() }
        task.cancel()
        if case .success = await task.value { fatalError("not cancelled by the task") }

        ASWebAuthenticationSession.starts.withLock { $0 = false }
        if case .failure(let error as SignInError) = await session("a.b:/c") {
            expect(error.code == .browserUnavailable)
        } else {
            fatalError("started")
        }
    }
}
