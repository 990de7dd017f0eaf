/// Asks the server by its public address, through whatever stands in front of nginx, and compares what arrives there with what
/// nginx itself lets through.
public struct PublicAddressCheck: Sendable {
    /// A request by the public address.
    public struct Question: Sendable {
        /// With the server's public address before it.
        public var path: String
        public var headers: [(name: String, value: String)] = []
    }

    public struct Reply: Sendable {
        public var status: Int
        /// The server's version; `nil` if something else has replied.
        public var version: String?
        public var errorCode: String?

        public init(status: Int, version: String?, errorCode: String?) {
            self.status = status
            self.version = version
            self.errorCode = errorCode
        }
    }

    /// - Returns: `nil` if there was no reply.
    public typealias Ask = @Sendable (Question) -> Result<Reply, FrontDoorCheck.NoReply>

    /// A kind of account that no server knows: what is refused then is the kind if the token has arrived, or else that it is
    /// missing. No provider is asked.
    private static let unknownType = "SyncctlDoctor"
    /// nginx and the server take 60,000 bytes of query and headers.
    private static let longQueryBytes = 50_000

    private let publicURL: String
    private let ownVersion: String
    private let ask: Ask

    /// - Parameters:
    ///   - publicURL: without a slash at its end.
    ///   - ownVersion: that of this program's release.
    public init(_ publicURL: String, ownVersion: String, ask: @escaping Ask) {
        self.publicURL = publicURL
        self.ownVersion = ownVersion
        self.ask = ask
    }

    public func examine() -> [Diagnosis] {
        switch ask(Question(path: "/HealthCheck")) {
        case .failure(let reason):
            return [
                Diagnosis(
                    .publicAddressUnreached, "\(publicURL) does not answer this host: \(reason.sentence)",
                    fix:
                        "try it from elsewhere, curl -sSI \(publicURL)/HealthCheck: some routers let nobody inside use "
                        + "the address outside")
            ]
        case .success(let reply):
            let isHere = reply.version == ownVersion
            // The address leads here; what is wrong here other checks tell.
            if isHere, reply.status >= 500 { return [] }
            guard isHere, reply.status == 200 else { return [elsewhere(reply)] }
        }
        let found = headers() + requestLength()
        guard !found.isEmpty else { return [.good("publicAddress", "the server answers at \(publicURL)")] }
        // What does not answer any more, such as an nginx that is being reloaded, limits nothing.
        guard case .success(let last) = ask(Question(path: "/HealthCheck")), last.status == 200 else { return [] }
        return found
    }

    private func elsewhere(_ reply: Reply) -> Diagnosis {
        let answer =
            switch reply.version {
            case nil: "something else than this server answers at \(publicURL)"
            case ownVersion: "this server has nothing at \(publicURL)/HealthCheck"
            case let version?: "a server of release \(version) answers at \(publicURL), not this one (\(ownVersion))"
            }
        return Diagnosis(
            .publicAddressElsewhere, "\(answer) (status \(reply.status))",
            fix:
                "compare publicURL in the configuration with the address that apps use, and the proxy's target with this "
                + "host; after an update: systemctl restart 'syncd-*'")
    }

    private func headers() -> [Diagnosis] {
        let hasHyphen = arrives("access-token")
        let hasUnderscore = arrives("access_token")
        guard let hasHyphen, let hasUnderscore else { return [] }
        if !hasHyphen {
            return [
                Diagnosis(
                    .publicAddressDropsHeaders, "the headers with people's tokens do not arrive through \(publicURL)",
                    fix: "have the proxy pass on all request headers")
            ]
        }
        return hasUnderscore
            ? []
            : [
                Diagnosis(
                    .publicAddressDropsUnderscores,
                    "the header access_token does not arrive through \(publicURL), access-token does",
                    fix:
                        "nginx: underscores_in_headers on; Caddy cannot pass it on; section 8, \"Another proxy in front\""
                )
            ]
    }

    /// Whether a header with a token arrives; `nil` if that cannot be told.
    private func arrives(_ name: String) -> Bool? {
        let question = Question(
            path: "/CheckCreds", headers: [("X-token-type", Self.unknownType), (name, "no-token")])
        guard case .success(let reply) = ask(question) else { return nil }
        switch reply.errorCode {
        case "sign_in_type_not_allowed": return true
        case "credentials_missing": return false
        default: return nil
        }
    }

    private func requestLength() -> [Diagnosis] {
        let question = Question(path: "/HealthCheck?ignored=" + String(repeating: "x", count: Self.longQueryBytes))
        let answer: String
        switch ask(question) {
        case .success(let reply) where reply.status == 200: return []
        case .success(let reply): answer = "status \(reply.status)"
        case .failure: answer = "no reply"
        }
        return [
            Diagnosis(
                .publicAddressLimitsRequests,
                "a request with \(Self.longQueryBytes) bytes of query does not pass \(publicURL): \(answer)",
                fix: "let the proxy take 64 KiB of request line and headers: section 8, \"Another proxy in front\"")
        ]
    }
}
