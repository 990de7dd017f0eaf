public import Foundation
import SyncProtocol
public import SyncServerConnection

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// For development: signs in as a user of the sandbox (docs/sandbox.md), without a browser.
///
/// The sandbox returns currently valid headers; a refresh requests them again.
public actor SandboxSignIn: CredentialProvider {
    private let url: URL
    private let transport: ProviderTransport
    private var kept: AccountCredentials?

    /// - Parameters:
    ///   - sandbox: the control interface, such as `http://127.0.0.1:8081`.
    ///   - accountID: as returned by `POST /sandbox/accounts`.
    public init(sandbox: URL, accountID: String, transport: ProviderTransport = .system()) {
        url = sandbox.appending(path: "sandbox/accounts").appending(path: accountID)
        self.transport = transport
    }

    /// The current account in the sandbox.
    /// - Throws: ``SignInError/Code/signInRequired`` if it does not exist, ``SignInError/Code/providerUnavailable``.
    public func account() async throws(SignInError) -> AccountCredentials {
        let credentials = try await ask()
        kept = credentials
        return credentials
    }

    /// Queries the sandbox on the first call.
    public func credentials() async -> Credentials? {
        if kept == nil { kept = try? await ask() }
        return kept?.credentials
    }

    public func refresh(_ refused: Credentials) async throws -> Credentials {
        do throws(SignInError) { return try await account().credentials } catch {
            if error.code == .providerUnavailable { throw CredentialRefreshFailure.unreachable }
            throw error
        }
    }

    private struct Account: Decodable {
        var id: String
        var name: String
        var email: String?
        var headers: [String: String]
    }

    private func ask() async throws(SignInError) -> AccountCredentials {
        let reply: ProviderTransport.Reply
        do { reply = try await transport.send(URLRequest(url: url)) } catch {
            throw SignInError(.providerUnavailable, "the sandbox is not answering")
        }
        guard reply.status == 200, let account = try? JSONDecoder().decode(Account.self, from: reply.body),
            let credentials = Self.credentials(account)
        else { throw SignInError(.signInRequired, "the sandbox has no such account: status \(reply.status)") }
        return credentials
    }

    /// Parses the headers.
    private static func credentials(_ account: Account) -> AccountCredentials? {
        func header(_ header: RequestHeader) -> String? { account.headers[header.rawValue] }
        guard let type = header(.tokenType).flatMap(AccountType.init(tokenType:)), let token = header(.accessToken)
        else { return nil }
        return AccountCredentials(
            accountType: type,
            person: AccountCredentials.Person(id: account.id, name: account.name, email: account.email),
            accessToken: header(.microsoftAccessToken) ?? token,
            idToken: type == .microsoft || type == .appleSignIn ? token : nil,
            serverGrant: header(.authorizationCode).map { AccountCredentials.ServerGrant(code: $0) },
            accountDetails: header(.accountDetails))
    }
}
