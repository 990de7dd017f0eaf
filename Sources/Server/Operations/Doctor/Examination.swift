import HTTPTransport
import OpenSSLCrypto
import Posix
public import Providers
import Store

/// Judges what was seen on a host; each check is one function without side effects, except for the probes.
public enum Examination {
    /// Work that has been due for longer is a sign that no worker is processing it; a worker polls twice a second.
    static let patienceSeconds: Int64 = 300
    static let clockToleranceMilliseconds: Int64 = 2_000
    /// Let's Encrypt's clients renew 30 days before expiry.
    static let certificateWarningDays: Int64 = 21

    public static func jobs(_ outbox: OutboxOverview) -> Diagnosis {
        if outbox.due > 0, outbox.longestDueSeconds > patienceSeconds {
            return Diagnosis(
                "jobs", .bad,
                "\(Quantity.of(outbox.due, "job")) due, for up to \(Quantity.seconds(outbox.longestDueSeconds)): "
                    + "the jobs role does not run, or cannot keep up",
                fix: "systemctl status 'syncd-jobs@*'; journalctl -u 'syncd-jobs@*' -p warning")
        }
        if outbox.failing > 0 {
            return Diagnosis(
                "jobs", .good,
                "the jobs role keeps up; \(Quantity.of(outbox.failing, "job")) failed before and will be tried again "
                    + "(syncctl jobs --failing)")
        }
        return Diagnosis("jobs", .good, "the jobs role keeps up")
    }

    public static func clock(ownMilliseconds: Int64, databaseMilliseconds: Int64) -> Diagnosis {
        let difference = abs(ownMilliseconds - databaseMilliseconds)
        guard difference > clockToleranceMilliseconds else {
            return Diagnosis("clock", .good, "this host and the database agree about the time")
        }
        return Diagnosis(
            "clock", .bad,
            "this host's clock and the database's differ by \(difference / 1_000) s: leases and "
                + "sign-ins depend on the time", fix: "let systemd-timesyncd or chrony run on both: timedatectl")
    }

    public static func disk(_ path: String, free: Int64, total: Int64) -> Diagnosis {
        let percent = total > 0 ? free * 100 / total : 0
        let finding = "\(path): \(Quantity.bytes(free)) free of \(Quantity.bytes(total))"
        if percent < 3 || free < 100 << 20 {
            return Diagnosis("disk", .bad, finding, fix: "make room: journalctl --vacuum-size=500M, old backups")
        }
        if percent < 10 { return Diagnosis("disk", .warning, finding, fix: "make room before it is full") }
        return Diagnosis("disk", .good, finding)
    }

    public static func uploadLimit(_ site: NginxSite, maximumUploadBytes: Int64) -> Diagnosis {
        guard let limit = site.uploadLimitBytes else {
            return Diagnosis(
                "uploadLimit", .unknown, "no location for UploadFile was found in nginx's configuration",
                fix: "if nginx runs on this host: --nginx FOLDER, or include syncd-locations.conf")
        }
        if limit != 0, limit < maximumUploadBytes {
            return Diagnosis(
                "uploadLimit", .bad,
                "nginx lets only \(Quantity.bytes(limit)) through, maximumUploadBytes is "
                    + Quantity.bytes(maximumUploadBytes),
                fix: "client_max_body_size \(maximumUploadBytes); at the location of UploadFile, or a smaller "
                    + "maximumUploadBytes")
        }
        return Diagnosis("uploadLimit", .good, "nginx lets uploads through as large as maximumUploadBytes")
    }

    /// - Parameter least: the fewest connections of an nginx process that suit a server on the open Internet.
    public static func connections(_ site: NginxSite, least: Int) -> Diagnosis {
        guard let connections = site.workerConnections else {
            return Diagnosis(
                "connections", .unknown, "nginx's configuration does not say how many connections it takes",
                fix: "if nginx runs on this host: --nginx FOLDER")
        }
        guard connections < least else {
            return Diagnosis("connections", .good, "each of nginx's processes takes \(connections) connections")
        }
        return Diagnosis(
            "connections", .warning,
            "each of nginx's processes takes \(connections) connections: whoever opens as many keeps everybody out",
            fix: "in nginx.conf worker_connections \(least); and worker_rlimit_nofile \(2 * least);, then systemctl "
                + "reload nginx")
    }

    public static func certificate(_ path: String, secondsLeft: Int64?) -> Diagnosis {
        guard let secondsLeft else {
            return Diagnosis(
                "certificate", .bad, "\(path) cannot be read as a certificate",
                fix: "run as root; check ssl_certificate")
        }
        let days = secondsLeft / 86_400
        if secondsLeft < 0 {
            return Diagnosis("certificate", .bad, "\(path) has expired", fix: "certbot renew; systemctl reload nginx")
        }
        if days < certificateWarningDays {
            return Diagnosis(
                "certificate", .warning,
                "\(path) expires in \(Quantity.seconds(secondsLeft)), and should have been renewed",
                fix: "certbot renew --dry-run says why not")
        }
        return Diagnosis("certificate", .good, "\(path) is valid for \(days) days")
    }

    public static func dns(_ name: String, addresses: [String], own: [String]) -> Diagnosis {
        guard !addresses.isEmpty else {
            return Diagnosis(
                "dns", .bad, "\(name) has no address",
                fix: "an A (and AAAA) record for \(name) with this host's address")
        }
        if addresses.contains(where: own.contains) {
            return Diagnosis("dns", .good, "\(name) leads to this host")
        }
        return Diagnosis(
            "dns", .unknown,
            "\(name) leads to \(Set(addresses).sorted().joined(separator: ", ")), none of which is on an "
                + "interface here: fine behind a load balancer or NAT")
    }

    /// Judges whether a company knows the app maker's registration for its accounts.
    /// - Parameter error: that of ``AccountProvider/checkRegistration(through:)``; `nil` if there was none.
    public static func registration(of company: Company, _ error: AccountError?) -> Diagnosis {
        let (check, name) = ("registration", company.name)
        guard let error else { return Diagnosis(check, .good, "\(name) knows this server") }
        guard case .misconfigured(let detail) = error else {
            let host = company.services.first?.hosts.first ?? ""
            let files = company.signIn?.makeStorage == nil ? "" : ", and no file of its users can be read"
            return Diagnosis(
                check, .warning,
                "\(name) does not answer as it should (\(error)): nobody who is new here can sign in with it\(files)",
                fix: "try it from this host, curl -sSI https://\(host): names must resolve, and the Internet be reached"
            )
        }
        let keys = company.signIn?.settings.filter(\.isRequired).map(\.key).joined(separator: ", ") ?? ""
        return Diagnosis(
            check, .bad,
            "\(name) refuses the server (\(detail)): nobody can sign in with it, and the tokens of its users are not "
                + "renewed", fix: "compare \(keys) with what \(name)'s console shows, then systemctl reload syncd")
    }

    /// Probes the responders behind a socket.
    public static func socket(_ check: String, _ path: String) -> Diagnosis {
        do {
            switch try ResponderProbe.healthStatus(at: path) {
            case 200?: return Diagnosis(check, .good, "a responder answers at \(path)")
            case 503?:
                return Diagnosis(
                    check, .bad, "the responder at \(path) cannot use the database",
                    fix: "journalctl -u 'syncd-*' -p warning")
            case let status:
                return Diagnosis(
                    check, .bad,
                    "what answers at \(path) is no healthy syncd (\(status.map(String.init) ?? "no status"))",
                    fix: "systemctl status 'syncd-*'")
            }
        } catch {
            return Diagnosis(
                check, .bad, "nobody answers at \(path): \(error)",
                fix: "systemctl status syncd.target 'syncd-*'; run as root, since only nginx may connect")
        }
    }

    /// Checks a certificate file.
    public static func certificate(at path: String) -> Diagnosis {
        let text = (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) }
        return certificate(path, secondsLeft: text.flatMap { try? Certificate.secondsLeft(pem: $0) })
    }

    /// Checks a file system.
    public static func disk(at path: String) -> Diagnosis {
        guard let space = try? HostFacts.space(at: path) else {
            return Diagnosis("disk", .unknown, "\(path) cannot be looked at")
        }
        return disk(path, free: space.free, total: space.total)
    }

    /// Looks up a name.
    public static func dns(_ name: String) -> Diagnosis {
        dns(name, addresses: HostFacts.addresses(of: name), own: HostFacts.ownAddresses())
    }
}
