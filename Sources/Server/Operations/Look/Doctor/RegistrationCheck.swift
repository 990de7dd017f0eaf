public import HTTPTransport
import Posix
public import Providers
import Synchronization

/// Asks a company whether it accepts the app's registration and the server's secret, without a user's token.
public enum RegistrationCheck {
    /// The seconds by which this host's clock was ahead of the clocks of the companies that have answered.
    public final class Clocks: Sendable {
        private let seen = Mutex<[Int64]>([])

        public init() {}

        public var offsets: [Int64] { seen.withLock { $0 } }

        /// Reads the date of each reply that passes.
        func watching(_ transport: Transport) -> Transport {
            Transport(
                send: { request, deadline throws(TransportError) in
                    let reply = try transport.send(request, by: deadline)
                    if let date = reply.head.date {
                        let offset = WallClock.secondsSince1970() - date
                        self.seen.withLock { $0.append(offset) }
                    }
                    return reply
                },
                stream: { request, deadline, head, body throws(TransportError) in
                    try transport.stream(request, by: deadline, head: head, body: body)
                })
        }
    }

    public static func examine(
        _ company: Company, _ account: any AccountProvider, through transport: Transport, _ clocks: Clocks,
        within limit: Duration
    ) -> Diagnosis {
        let client = AccountClient(
            transport: clocks.watching(transport), deadline: .after(limit), backoff: Backoff { Pause.sleep($0) })
        do throws(AccountError) {
            try account.checkRegistration(through: client)
            return judge(company, nil)
        } catch {
            return judge(company, error)
        }
    }

    /// - Parameter error: from ``AccountProvider/checkRegistration(through:)``; `nil` if there was none.
    static func judge(_ company: Company, _ error: AccountError?) -> Diagnosis {
        let name = company.name
        guard let error else { return .good("registration", "\(name) accepts this server's registration") }
        guard case .misconfigured(let detail) = error else {
            let host = company.services.first?.hosts.first ?? ""
            return Diagnosis(
                .providerUnreachable, "\(name) returned no valid answer (\(error))",
                fix: "try it from this host, curl -sSI https://\(host): names must resolve, and the Internet must be "
                    + "reachable"
            )
        }
        let keys = company.signIn?.settings.filter(\.isRequired).map(\.key).joined(separator: ", ") ?? ""
        return Diagnosis(
            .secretRefused, "\(name) rejects this server's registration (\(detail))",
            fix: "compare \(keys) with \(name)'s console, then systemctl reload syncd")
    }
}

/// Compares this host's clock with other clocks.
public enum ClockCheck {
    static let databaseToleranceMilliseconds: Int64 = 2_000
    /// Dates in replies are whole seconds, and are delayed by the network. Providers accept minutes of difference in
    /// signed requests and tokens.
    static let toleranceSeconds: Int64 = 30

    public static func database(ownMilliseconds: Int64, databaseMilliseconds: Int64) -> Diagnosis {
        let difference = abs(ownMilliseconds - databaseMilliseconds)
        guard difference > databaseToleranceMilliseconds else {
            return .good("clock", "this host's clock and the database's agree")
        }
        return Diagnosis(
            .databaseClockDiffers,
            "this host's clock and the database's differ by \(Quantity.seconds(difference / 1_000))",
            fix: "let systemd-timesyncd or chrony run on both: timedatectl set-ntp true; timedatectl timesync-status")
    }

    /// - Parameter offsets: by how many seconds this host's clock was ahead of each provider's.
    public static func providers(offsets: [Int64]) -> Diagnosis {
        // One provider's clock may be wrong; this host's clock is wrong only if none agrees with it.
        guard let least = offsets.min(by: { abs($0) < abs($1) }) else {
            return Diagnosis(
                .clockUnread, "no provider has reported its time, so this host's clock cannot be compared",
                fix: "timedatectl timesync-status")
        }
        guard abs(least) > toleranceSeconds else { return .good("clock", "this host's clock is right") }
        return Diagnosis(
            .clockOff,
            "this host's clock is \(Quantity.seconds(abs(least))) \(least > 0 ? "ahead of" : "behind") the providers'",
            fix: "timedatectl set-ntp true; timedatectl timesync-status")
    }
}
