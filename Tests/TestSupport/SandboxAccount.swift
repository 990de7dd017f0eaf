import Foundation

/// A provider that the sandbox emulates.
public enum SandboxProvider: String, Sendable {
    case google
    case facebook
    case dropbox
    case microsoft
    case apple
    /// A Nextcloud server.
    case webdav
}

/// One person's account at an emulated provider.
public struct SandboxAccount: Sendable {
    /// The sandbox's id for the account.
    public let id: String
    /// The account's provider.
    public let provider: SandboxProvider
    /// The display name.
    public let name: String
    /// The headers that a signed-in client sends with each request, except the device UUID.
    public var headers: [(name: String, value: String)]
    /// The device's token.
    public let accessToken: String
    /// The newest valid refresh token; nil if the person has granted none, or it was revoked.
    public let refreshToken: String?

    init?(_ json: JSONValue) {
        guard let id = json.id?.text, let provider = json.provider?.text.flatMap(SandboxProvider.init(rawValue:)),
            let name = json.name?.text, case .object(let headers) = json.headers,
            let accessToken = json.accessToken?.text
        else { return nil }
        self.id = id
        self.provider = provider
        self.name = name
        self.headers = headers.compactMap { name, value in value.text.map { (name, $0) } }.sorted { $0.0 < $1.0 }
        self.accessToken = accessToken
        refreshToken = json.refreshToken?.text
    }

    /// The redirect URI of the codes of ``SandboxControl/bearerAccount(of:verifier:)``.
    public static let redirectURI = "http://127.0.0.1:49152/server"
    /// The verifier of those codes.
    public static let codeVerifier = String(repeating: "a", count: 43)

    /// Returns the account without the headers of an authorization code.
    public var withoutCode: SandboxAccount {
        var copy = self
        copy.headers.removeAll { $0.name.hasPrefix("SyncServer-") }
        return copy
    }

    /// Creates an account at a real server that tests put behind the sandbox; its files have Google's kind of checksum.
    public init(atRealServer name: String, headers: [(name: String, value: String)]) {
        id = name
        provider = .google
        self.name = name
        self.headers = headers
        accessToken = ""
        refreshToken = nil
    }

    /// Creates an account for a key prefix in the bucket of a real server (scripts/lib/storage-server) at that address.
    public init(inBucketAt address: String, prefix: String) throws {
        let details = [
            "address": address, "region": "us-east-1", "bucket": S3Bucket.name, "accessKeyID": "AKTEST",
            "prefix": prefix,
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: details), as: UTF8.self)
        self.init(
            atRealServer: prefix,
            headers: [
                ("X-token-type", "S3Token"), ("access_token", "secret-of-the-tests"), ("X-account-details", text),
            ])
    }

    /// Creates an account for a folder of a real WebDAV server (scripts/lib/storage-server) at that address.
    public init(inFolderAt address: String, user: String = "tester", password: String) throws {
        let details = String(
            decoding: try JSONSerialization.data(withJSONObject: ["address": address, "user": user]), as: UTF8.self)
        self.init(
            atRealServer: address,
            headers: [("X-token-type", "WebDAVToken"), ("access_token", password), ("X-account-details", details)])
    }

    /// The value of a header, regardless of its letter case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Returns the account with one header replaced, or removed if `value` is nil.
    public func replacing(header name: String, with value: String?) -> SandboxAccount {
        var copy = self
        copy.headers.removeAll { $0.name.lowercased() == name.lowercased() }
        if let value { copy.headers.append((name, value)) }
        return copy
    }
}

/// A file in a user's own storage, as its owner sees it.
public struct StoredFile: Sendable {
    /// The file's name.
    public let name: String
    /// The name of the folder that contains it.
    public let folder: String
    /// The length in bytes.
    public let size: Int
    /// The provider's own checksum.
    public let checkSum: String

    /// Describes a file of a real server.
    public init(name: String, folder: String, size: Int) {
        self.name = name
        self.folder = folder
        self.size = size
        checkSum = ""
    }

    init?(_ json: JSONValue) {
        guard let name = json.name?.text, let size = json.size?.integer else { return nil }
        self.name = name
        self.folder = json.folder?.text ?? ""
        self.size = Int(size)
        self.checkSum = json.checkSum?.text ?? ""
    }
}
