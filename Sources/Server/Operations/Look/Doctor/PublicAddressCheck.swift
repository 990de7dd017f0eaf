/// Sends requests to the server's public address, through any proxy in front of nginx, and compares what arrives with
/// what nginx itself accepts.
public struct PublicAddressCheck: Sendable {
    /// A request to the public address.
    public struct Question: Sendable {
        /// Appended to the server's public address.
        public var path: String
        public var headers: [(name: String, value: String)] = []
    }

    public struct Reply: Sendable {
        public var status: Int
        /// The server's version; `nil` if the reply is not from this kind of server.
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

    /// An account type that no server knows. If the token has arrived, the server rejects the type; otherwise it
    /// reports the missing token. It asks no provider.
    private static let unknownType = "SyncctlDoctor"
    /// nginx and the server accept 60,000 bytes of query and headers.
    private static let longQueryBytes = 50_000

    private let publicURL: String
    private let ownVersion: String
    private let ask: Ask

    /// - Parameters:
    ///   - publicURL: without a trailing slash.
    ///   - ownVersion: this program's release.
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
                    .publicAddressUnreached, "\(publicURL) cannot be reached from this host: \(reason.sentence)",
                    fix:
                        "try it from elsewhere, curl -sSI \(publicURL)/HealthCheck: some routers do not let "
                        + "hosts behind them use the public address")
            ]
        case .success(let reply):
            let isHere = reply.version == ownVersion
            // The address leads here; other checks report this host's problems.
            if isHere, reply.status >= 500 { return [] }
            guard isHere, reply.status == 200 else { return [elsewhere(reply)] }
        }
        let found = headers() + requestLength()
        guard !found.isEmpty else { return [.good("publicAddress", "the server answers at \(publicURL)")] }
        // If it no longer answers, for example during a reload of nginx, the failures above show no limit.
        guard case .success(let last) = ask(Question(path: "/HealthCheck")), last.status == 200 else { return [] }
        return found
    }

    private func elsewhere(_ reply: Reply) -> Diagnosis {
        let answer =
            switch reply.version {
            case nil: "a program other than this server answers at \(publicURL)"
            case ownVersion: "this server does not serve \(publicURL)/HealthCheck"
            case let version?: "a server of release \(version) answers at \(publicURL), not this one (\(ownVersion))"
            }
        return Diagnosis(
            .publicAddressElsewhere, "\(answer) (status \(reply.status))",
            fix:
                "compare publicURL in the configuration with the address that apps use, and the proxy's target with "
                + "this "
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
                    fix: "configure the proxy to pass on all request headers")
            ]
        }
        return hasUnderscore
            ? []
            : [
                Diagnosis(
                    .publicAddressDropsUnderscores,
                    "the header access_token does not arrive through \(publicURL), but access-token does",
                    fix:
                        "nginx: underscores_in_headers on; Caddy cannot pass it on; see section 8, \"Another proxy in "
                        + "front\""
                )
            ]
    }

    /// Whether a header with a token arrives; `nil` if that cannot be determined.
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
                "a request with \(Self.longQueryBytes) bytes of query does not get through \(publicURL): \(answer)",
                fix: "let the proxy accept 64 KiB of request line and headers: see section 8, \"Another proxy in "
                    + "front\"")
        ]
    }
}
