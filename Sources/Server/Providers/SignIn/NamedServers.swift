public import HTTPTransport

/// The servers that people may name when they sign in with an account type without company servers.
///
/// This server sends requests to an address that a person names, from inside the operator's network. Therefore no
/// server is allowed by default. The operator lists servers, and is responsible for them; or allows any server, in
/// which case only public addresses are reached (``OutgoingRequest/Destination/named``).
public struct NamedServers: Sendable {
    private let listed: [ServerAddress]
    private let admitsAnyPublic: Bool

    public init(listed: [ServerAddress], admitsAnyPublic: Bool) {
        self.listed = listed
        self.admitsAnyPublic = admitsAnyPublic
    }

    /// The destination of requests to an address that a person has named; `nil` if such requests are not allowed.
    ///
    /// Checked for each request, not only at sign-in: a server that the operator no longer lists is no longer used.
    public func destination(of address: ServerAddress) -> OutgoingRequest.Destination? {
        if listed.contains(where: { address.isWithin($0) }) { return .listed }
        guard admitsAnyPublic, address.scheme == .https, address.port == nil, address.hostKind == .domainName else {
            return nil
        }
        return .named
    }
}

extension NamedServers {
    /// The two settings for the servers of one account type.
    struct Settings: Sendable {
        let servers: Setting
        let anyPublicServer: Setting

        /// - Parameters:
        ///   - servers: the key of the list.
        ///   - anyPublicServer: the key of the flag.
        ///   - question: the question with which setup asks for the list.
        ///   - example: an example of an address.
        init(servers: String, anyPublicServer: String, question: String, example: String) {
            self.servers = Setting(
                servers, .servers, question: SetupQuestion(question, .list, form: .any(example: example)),
                objection: { text in
                    ServerAddress(text) == nil
                        ? "must be the http or https address of a server, without a user, a query or a fragment" : nil
                })
            self.anyPublicServer = Setting(anyPublicServer, .bool(default: false))
        }

        var all: [Setting] { [servers, anyPublicServer] }
    }

    /// The servers that a configuration allows; invalid addresses have already raised objections.
    init(_ settings: Settings, _ values: SettingValues) {
        self.init(
            listed: values.list(settings.servers).compactMap { ServerAddress($0) },
            admitsAnyPublic: values.flag(settings.anyPublicServer))
    }
}
