import OpenSSLCrypto
import Posix

/// Connects as a phone does, by HTTPS and the server's name, to nginx on this host.
public struct FrontDoorCheck: Sendable {
    /// The address to connect to, and the name to send.
    public struct Door: Sendable {
        public var name: String
        /// Host and port.
        public var address: String
        public var isSecure: Bool
        /// The certificate that nginx must present, if its configuration names one.
        public var certificateFile: String?

        public init(name: String, address: String, isSecure: Bool, certificateFile: String? = nil) {
            self.name = name
            self.address = address
            self.isSecure = isSecure
            self.certificateFile = certificateFile
        }
    }

    /// The reply to a request for HealthCheck.
    public struct Reply: Sendable {
        public var status: Int
        /// Whether it has the headers of this server.
        public var isOurs: Bool

        public init(status: Int, isOurs: Bool) {
            self.status = status
            self.isOurs = isOurs
        }
    }

    /// Why there was no reply.
    public struct NoReply: Error {
        public var sentence: String
        /// Whether the certificate is the reason.
        public var isCertificate: Bool
        /// Whether the connection was accepted, but no reply came.
        public var isSilence: Bool

        public init(_ sentence: String, isCertificate: Bool, isSilence: Bool = false) {
            self.sentence = sentence
            self.isCertificate = isCertificate
            self.isSilence = isSilence
        }
    }

    /// Requests HealthCheck at a door; trusts the authorities of a PEM file or, without one, those of the system.
    public typealias Request = @Sendable (_ door: Door, _ authorities: String?) -> Result<Reply, NoReply>

    /// A PEM file of authorities that people's devices trust although this host does not.
    let authorities: String?
    let limit: Duration
    let request: Request

    public init(authorities: String?, within limit: Duration, request: @escaping Request) {
        self.authorities = authorities
        self.limit = limit
        self.request = request
    }

    /// The doors of a site: each of its names, over IPv4 and IPv6, on a TLS listener of nginx if there is one. A
    /// listener that expects the PROXY protocol is skipped: it accepts only load balancers. Phones use the addresses in
    /// DNS, and most prefer IPv6: an address of this host on which nginx does not listen is also a door.
    /// - Parameter addresses: a name's addresses that are on this host.
    public static func doors(
        of site: NginxSite, host: String?, addresses: (_ name: String) -> [String]
    ) -> [Door] {
        let all = site.servers.flatMap { server in
            let names = server.names.isEmpty ? [host].compactMap(\.self) : server.names
            // One listener of each address family is enough.
            let listeners = [true, false].flatMap { isSecure in
                let usable = server.listeners.filter { $0.isSecure == isSecure && !$0.isProxied }
                return [false, true].compactMap { isNew in usable.first { isIPv6($0.address) == isNew } }
            }
            let certificate = server.certificates.first?.certificate
            return names.filter { host == nil || $0 == host }.flatMap { name in
                let known = listeners.map { listener in
                    Door(
                        name: name, address: listener.address, isSecure: listener.isSecure,
                        certificateFile: listener.isSecure ? certificate : nil)
                }
                guard let secure = known.first(where: \.isSecure), let port = secure.address.split(separator: ":").last,
                    !server.listeners.contains(where: \.isProxied)
                else { return known }
                let others = addresses(name).map { $0.contains(":") ? "[\($0)]:\(port)" : "\($0):\(port)" }
                let unheard = others.first { other in
                    !known.contains { $0.isSecure && isIPv6($0.address) == isIPv6(other) }
                }
                return known
                    + [unheard].compactMap(\.self).map {
                        Door(name: name, address: $0, isSecure: true, certificateFile: certificate)
                    }
            }
        }
        return all.contains(where: \.isSecure) ? all.filter(\.isSecure) : all
    }

    private static func isIPv6(_ address: String) -> Bool { address.hasPrefix("[") }

    public func examine(_ door: Door) -> [Diagnosis] {
        guard door.isSecure else { return [judge(request(door, authorities), door)] }
        do throws(ServedCertificate.Failure) {
            var served = try ServedCertificate.ask(door.address, name: door.name, authorities: nil, within: limit)
            var trusted: String?
            if served.distrust != nil, let authorities {
                served = try ServedCertificate.ask(
                    door.address, name: door.name, authorities: authorities, within: limit)
                trusted = authorities
            }
            let (diagnoses, isUsable) = judge(served, door)
            guard isUsable else { return diagnoses }
            // A certificate that this host does not trust may still be valid: a private authority may have issued it.
            if served.distrust != nil { trusted = door.certificateFile }
            return diagnoses + [judge(request(door, trusted), door)]
        } catch {
            switch error {
            case .closed(let reason): return [closed(door, reason)]
            case .silent:
                let note = Diagnosis(
                    .frontDoorUnread, "nginx presents no certificate for \(door.name) in time",
                    fix: "retry with more time: --patience 30")
                return [note, judge(request(door, authorities ?? door.certificateFile), door)]
            case .unknown(let reason):
                let note = Diagnosis(
                    .frontDoorUnread, "the certificate that nginx presents cannot be examined: \(reason)",
                    fix: "apt install openssl")
                return [note, judge(request(door, authorities), door)]
            }
        }
    }

    private func closed(_ door: Door, _ reason: String) -> Diagnosis {
        Diagnosis(
            .frontDoorClosed, "nothing accepts connections for \(door.name) at \(door.address): \(reason)",
            fix:
                "nginx -t && systemctl restart nginx; ss -ltnp shows all listeners; for IPv6, nginx's site needs "
                + "listen [::]:443 ssl")
    }

    /// Findings about the certificate that nginx presents, unless the check of its file already reports them; and
    /// whether a client that trusts its authority would continue.
    private func judge(_ served: ServedCertificate, _ door: Door) -> (diagnoses: [Diagnosis], isUsable: Bool) {
        let file = door.certificateFile.flatMap { try? TextFile.read($0) }.map { String(decoding: $0, as: UTF8.self) }
        let isInFile = file.flatMap { try? Certificate(pem: $0).fingerprint }
        let secondsLeft: Int64
        let isForName: Bool
        let fingerprint: [UInt8]
        do throws(CryptoError) {
            let certificate = try Certificate(pem: served.pem)
            (secondsLeft, isForName) = (certificate.secondsLeft, certificate.isFor(host: door.name))
            fingerprint = certificate.fingerprint
        } catch {
            let note = Diagnosis(
                .frontDoorUnread, "nginx presents no readable certificate for \(door.name)", fix: "nginx -t")
            return ([note], false)
        }
        let isFile = fingerprint == isInFile
        if secondsLeft < 0 {
            // The file itself has expired, which its own check reports.
            if isFile { return ([], false) }
            let finding = Diagnosis(
                .expiredCertificateServed, "nginx presents a certificate for \(door.name) that has expired",
                fix: "systemctl reload nginx loads the file; certbot needs --deploy-hook 'systemctl reload nginx'")
            return ([finding], false)
        }
        var diagnoses: [Diagnosis] = []
        if !isFile, let path = door.certificateFile, isInFile != nil {
            diagnoses.append(
                Diagnosis(
                    .certificateNotLoaded,
                    "nginx presents a certificate for \(door.name) that differs from the one in \(path)",
                    fix: "systemctl reload nginx; certbot needs --deploy-hook 'systemctl reload nginx'"))
        }
        if !isForName, !isFile {
            diagnoses.append(CertificateCheck.otherName("the certificate that nginx presents", door.name))
        }
        if let distrust = served.distrust {
            diagnoses.append(
                Diagnosis(
                    .certificateUntrusted,
                    "this host does not trust nginx's certificate for \(door.name): \(distrust)",
                    fix:
                        "ssl_certificate must name a file with the intermediate certificates (certbot: "
                        + "fullchain.pem); with your own authority: --ca-file FILE"))
        }
        return (diagnoses, isForName)
    }

    private func judge(_ reply: Result<Reply, NoReply>, _ door: Door) -> Diagnosis {
        switch reply {
        case .success(let reply) where reply.status >= 500:
            Diagnosis(
                .frontDoorUnhealthy, "nginx answers \(reply.status) to HealthCheck for \(door.name)",
                fix: "502, 504: systemctl status 'syncd-*'; 503: systemctl status mariadb; journalctl -u 'syncd-*' -p "
                    + "warning")
        case .success(let reply) where !reply.isOurs || reply.status != 200:
            Diagnosis(
                .otherServerAnswers,
                "at \(door.address), the reply for \(door.name) is not from this server (status \(reply.status))",
                fix: "nginx -t && systemctl reload nginx loads the site; nginx -T shows which server block has the name"
            )
        case .success: .good("frontDoor", "the server answers at \(door.address) as \(door.name)")
        case .failure(let error) where error.isCertificate:
            Diagnosis(
                .certificateUntrusted, "a connection to \(door.name) is not trusted: \(error.sentence)",
                fix: "with your own authority: --ca-file FILE")
        case .failure(let error) where error.isSilence:
            Diagnosis(
                .frontDoorUnhealthy,
                "nginx accepts a connection for \(door.name) at \(door.address), but does not reply",
                fix:
                    "systemctl reload syncd; if that does not help: systemctl restart nginx; journalctl -u 'syncd-*' "
                    + "-p "
                    + "warning")
        case .failure(let error): closed(door, error.sentence)
        }
    }
}

/// The certificate that a server presents, obtained with openssl-s_client(1), which continues where a client would give
/// up.
struct ServedCertificate {
    enum Failure: Error, Equatable {
        /// Connections are not accepted.
        case closed(String)
        /// No reply came in time, because of the server or because this host is busy.
        case silent
        /// It could not be requested.
        case unknown(String)
    }

    /// In PEM.
    let pem: String
    /// Why this host does not trust it, in OpenSSL's words; `nil` if it does. The host name is not checked.
    let distrust: String?

    /// - Parameters:
    ///   - address: host and port.
    ///   - name: the server's name (RFC 6066, section 3).
    ///   - authorities: a PEM file of authorities to trust instead of the system's.
    static func ask(
        _ address: String, name: String, authorities: String?, within limit: Duration
    ) throws(Failure) -> ServedCertificate {
        var arguments = ["openssl", "s_client", "-connect", address, "-servername", name]
        if let authorities { arguments += ["-CAfile", authorities] }
        let outcome: ChildProcess.Outcome
        do throws(PosixError) { outcome = try ChildProcess.run(arguments, within: limit) } catch {
            // ETIMEDOUT, which ChildProcess.run throws after its limit, in the system's words.
            if error.description.hasSuffix("timed out") { throw .silent }
            throw error.isAbsence ? .unknown("the program openssl is not installed") : .closed("\(error)")
        }
        guard let found = ServedCertificate(output: outcome.output) else {
            let lines = outcome.output.split(separator: "\n")
            // s_client(1) prints the system call's error on a separate line.
            let line = lines.last { $0.contains("errno") || $0.contains("error") } ?? lines.first ?? "no reply"
            throw .closed(String(line))
        }
        return found
    }

    /// Reads what the program prints; `nil` without a certificate.
    init?(output: String) {
        guard let begin = output.firstRange(of: "-----BEGIN CERTIFICATE-----"),
            let end = output.firstRange(of: "-----END CERTIFICATE-----"), begin.lowerBound < end.lowerBound
        else { return nil }
        pem = String(output[begin.lowerBound..<end.upperBound]) + "\n"
        // "Verify return code: 18 (self-signed certificate)"; 0 means trusted.
        let verdict = output.split(separator: "\n").first { $0.contains("Verify return code: ") }
        let text = verdict?.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? ""
        distrust = text.hasPrefix("0 ") ? nil : text.split(separator: "(").last.map { String($0.dropLast()) } ?? text
    }
}
