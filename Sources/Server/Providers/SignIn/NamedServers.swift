public import HTTPTransport

/// The servers that people may name when they sign in with an account type that has no company's servers.
///
/// An address that a person names makes this server send requests there, from inside the operator's network. So by
/// default none is admitted. The operator lists servers, and is trusted with what they list; or admits any server, of
/// which only those with public addresses are reached (``OutgoingRequest/Destination/named``).
public struct NamedServers: Sendable {
    private let listed: [ServerAddress]
    private let admitsAnyPublic: Bool

    public init(listed: [ServerAddress], admitsAnyPublic: Bool) {
        self.listed = listed
        self.admitsAnyPublic = admitsAnyPublic
    }

    /// How requests to an address that a person has named are sent; `nil` if they are not.
    ///
    /// Asked for each request, not only when the person signs in: what the operator no longer lists is no longer used.
    public func destination(of address: ServerAddress) -> OutgoingRequest.Destination? {
        if listed.contains(where: { address.isWithin($0) }) { return .listed }
        guard admitsAnyPublic, address.scheme == .https, address.port == nil, address.hostKind == .domainName else {
            return nil
        }
        return .named
    }
}

extension NamedServers {
    /// The two settings about servers of one account type.
    struct Settings: Sendable {
        let servers: Setting
        let anyPublicServer: Setting

        /// - Parameters:
        ///   - servers: the key of the list.
        ///   - anyPublicServer: the key of the flag.
        ///   - question: how setup asks for the list.
        ///   - example: of an address.
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

    /// The servers that a configuration admits; addresses that are none have been objected to.
    init(_ settings: Settings, _ values: SettingValues) {
        self.init(
            listed: values.list(settings.servers).compactMap { ServerAddress($0) },
            admitsAnyPublic: values.flag(settings.anyPublicServer))
    }
}
