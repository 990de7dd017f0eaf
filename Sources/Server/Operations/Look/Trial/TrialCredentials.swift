import FoundationEssentials
public import Providers
import SyncProtocol
import UntrustedInput

/// A test account's credentials: only a code, or a phone's credentials, named like its headers.
public struct TrialCredentials: Sendable {
    public var accessToken = ""
    public var authorizationCode: String?
    public var redirectURI: String?
    public var codeVerifier: String?
    public var accountID: String?
    public var microsoftAccessToken: String?
    /// A refresh token of the server's own client, if there is no code.
    public var refreshToken: String?
    /// Members of ``PresentedCredentials/accountDetails``.
    public var details: [String: String] = [:]

    public init() {}

    /// Stores an answer to a question of the guide.
    public mutating func set(_ answer: TrialGuide.Question.Answer, to text: String) {
        switch answer {
        case .accessToken: accessToken = text
        case .authorizationCode: authorizationCode = text.isEmpty ? nil : text
        case .detail(let name): details[name] = text.isEmpty ? nil : text
        }
    }

    /// The code, if it is the only credential.
    var codeAlone: PresentedCode? {
        guard accessToken.isEmpty, let authorizationCode else { return nil }
        return PresentedCode(
            authorizationCode, redirectURI: redirectURI, verifier: codeVerifier.flatMap(CodeVerifier.init))
    }

    func presented(as type: AccountType) -> PresentedCredentials {
        PresentedCredentials(
            accountType: type, accessToken: accessToken, authorizationCode: authorizationCode,
            redirectURI: redirectURI, codeVerifier: codeVerifier.flatMap(CodeVerifier.init), accountID: accountID,
            microsoftAccessToken: microsoftAccessToken, accountDetails: detailsText)
    }

    private var detailsText: String? {
        guard !details.isEmpty, let encoded = try? JSONEncoder().encode(details) else { return nil }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// All texts that must not appear in a report.
    var confidential: [String] {
        [accessToken, authorizationCode, codeVerifier, accountID, microsoftAccessToken, refreshToken]
            .compactMap(\.self) + details.filter { $0.key != "region" }.values
    }
}

// A file of credentials.
extension TrialCredentials {
    /// Why a file cannot be used, as the end of a sentence about it.
    public struct Unusable: Error, Equatable {
        public let text: String
    }

    private struct File: Decodable {
        var accessToken: String?
        var authorizationCode: String?
        var redirectURI: String?
        var codeVerifier: String?
        var accountID: String?
        var microsoftAccessToken: String?
        var refreshToken: String?
        var details: [String: String]?
    }

    /// The members of a file of credentials.
    public static let members = [
        "accessToken", "authorizationCode", "redirectURI", "codeVerifier", "accountID", "microsoftAccessToken",
        "refreshToken", "details",
    ]

    /// Reads a JSON object with any of ``members``; `details` is an object of texts.
    public init(json: [UInt8]) throws(Unusable) {
        let file: File
        let names: Set<String>
        do {
            file = try UntrustedJSON.decode(File.self, from: json)
            names = Set(try UntrustedJSON.decode([String: Anything].self, from: json).keys)
        } catch {
            throw Unusable(text: "must be a JSON object of strings, and an object of strings named details")
        }
        if let unknown = names.subtracting(Self.members).min() {
            throw Unusable(
                text: "has the unknown member \(unknown); it can have \(Self.members.joined(separator: ", "))")
        }
        accessToken = file.accessToken ?? ""
        authorizationCode = file.authorizationCode
        redirectURI = file.redirectURI
        codeVerifier = file.codeVerifier
        accountID = file.accountID
        microsoftAccessToken = file.microsoftAccessToken
        refreshToken = file.refreshToken
        details = file.details ?? [:]
        guard !accessToken.isEmpty || authorizationCode != nil else {
            throw Unusable(text: "contains neither an accessToken nor an authorizationCode")
        }
    }

    /// A value of any kind.
    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }
}

// It contains secrets.
extension TrialCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "<redacted>" }
    public var debugDescription: String { "<redacted>" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
